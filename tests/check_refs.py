"""Every paper that a comment or a page cites, as [daviet2016, (21)], stands in docs/refs.bib, once; and every number of a closure.h stands in
docs/theory.md with its value."""
import os
import re
import sys

source = os.environ["SOURCE"]
with open(os.path.join(source, "docs", "refs.bib"), encoding="utf-8") as file:
    keys = re.findall(r"^@\w+\{([^,\s]+),", file.read(), re.M)
missing = [f"docs/refs.bib: {key} stands twice" for key in sorted(set(keys)) if keys.count(key) > 1]
cited = 0
for folder in ("src", "include", "apps", "bench", "docs", "validation", "tools"):
    for where, folders, names in os.walk(os.path.join(source, folder)):
        folders.sort()
        for name in sorted(names):
            if not name.endswith((".c", ".h", ".cpp", ".md", ".py")):
                continue
            path = os.path.join(where, name)
            with open(path, encoding="utf-8", errors="replace") as file:
                for number, line in enumerate(file, 1):
                    for key in re.findall(r"\[([a-z]+(?:19|20)\d\d[a-z]*)[\],;]", line):
                        cited += 1
                        if key not in keys:
                            missing.append(f"{os.path.relpath(path, source)}:{number}: [{key}] is not in docs/refs.bib")
with open(os.path.join(source, "docs", "theory.md"), encoding="utf-8") as file:
    told = dict(re.findall(r"\| `(\w+)` \| (\S+) \|", file.read()))
numbers = {}
for room in sorted(os.listdir(os.path.join(source, "src"))):
    path = os.path.join(source, "src", room, "closure.h")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            numbers.update((name, (value, room)) for name, value in re.findall(r"^(?:#define|enum \{) (\w+) (?:= )?([-+.\de]+)", file.read(), re.M))
for name, (value, room) in numbers.items():
    if told.pop(name, None) != value:
        missing.append(f"src/{room}/closure.h: {name} = {value} is not in the table of docs/theory.md")
missing += [f"docs/theory.md: {name} is in no closure.h" for name in told]
if not numbers:
    missing.append("no number was found in src/*/closure.h")
print("\n".join(missing) if missing else f"{cited} citations of {len(keys)} papers, {len(numbers)} numbers of closures")
sys.exit(1 if missing or cited == 0 else 0)
