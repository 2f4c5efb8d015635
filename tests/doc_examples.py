"""Every complete scene in the documentation runs: its first instants, as a reader would run it."""
import os
import re
import subprocess
import sys

source, repose = os.environ["SOURCE"], os.environ["REPOSE"]
pages = [os.path.join(source, "README.md")]
pages += sorted(os.path.join(source, "docs", f) for f in os.listdir(os.path.join(source, "docs")) if f.endswith(".md"))

count, failures = 0, 0
for page in pages:
    with open(page, encoding="utf-8") as stream:
        text = stream.read()
    for block in re.findall(r"```yaml\n(.*?)```", text, re.S):
        if not re.search(r"^domain:", block, re.M) or not re.search(r"^(cell_size|resolution):", block, re.M):
            continue  # a fragment
        count += 1
        name = "example_%02d" % count
        with open(name + ".yaml", "w", encoding="utf-8") as stream:
            stream.write(block)
        command = [repose, "run", name + ".yaml", "-o", name, "--overwrite", "--quiet", "--until", "0.04"]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if ran.returncode != 0:
            failures += 1
            print("%s, example %d: exit code %d\n%s\n%s" % (os.path.relpath(page, source), count, ran.returncode, ran.stderr, block))
print("%d scenes in the documentation, %d failed" % (count, failures))
if count < 6:
    sys.exit("too few examples were found: has the layout of the pages changed?")
sys.exit(1 if failures else 0)
