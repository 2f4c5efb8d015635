"""What the documentation shows works: every complete scene runs (its first instants, as a reader would run it), every complete C program
compiles and runs, and shell lines marked <!-- tested: NAME --> run beside the scene shown before them, saved as NAME."""
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
programs = 0
for page in pages:
    with open(page, encoding="utf-8") as stream:
        text = stream.read()
    for block in re.findall(r"```c\n(.*?)```", text, re.S):
        if "int main(void)" not in block or "heap.yaml" in block:
            continue  # a fragment; the front page's program is run by the test of the installation
        programs += 1
        with open("program.c", "w", encoding="utf-8") as stream:
            stream.write(block)
        flags = ["-fsanitize=" + os.environ["SANITIZE"]] if os.environ.get("SANITIZE") else []
        built = subprocess.run([os.environ["CC"], "-std=c17", "-Wall", "-Wextra", "-Werror", *flags, "-I", os.path.join(source, "include"), "program.c",
                                "-o", "program", "-L", os.environ["BUILD"], "-Wl,-rpath," + os.environ["BUILD"], "-lrepose", "-lm"],
                               capture_output=True, text=True)
        ran = subprocess.run(["./program"], capture_output=True, text=True, timeout=300) if built.returncode == 0 else built
        if ran.returncode != 0 or not ran.stdout:
            failures += 1
            print("%s, a C program: exit code %d\n%s" % (os.path.relpath(page, source), ran.returncode, ran.stderr))
    for before, name, block in re.findall(r"```yaml\n((?:(?!```).)*?)```\s*<!-- tested: (\S+) -->\s*```sh\n(.*?)```", text, re.S):
        programs += 1
        with open(name, "w", encoding="utf-8") as stream:
            stream.write(before)
        environment = dict(os.environ, PATH=os.path.dirname(repose) + ":" + os.environ["PATH"])
        ran = subprocess.run(["sh", "-e", "-c", "rm -rf out\n" + block], capture_output=True, text=True, timeout=300, env=environment)
        if ran.returncode != 0:
            failures += 1
            print("%s, shell lines: exit code %d\n%s\n%s" % (os.path.relpath(page, source), ran.returncode, ran.stderr, block))
print("%d programs and shell examples" % programs)
if programs < 2:
    sys.exit("too few programs were found: has the layout of the pages changed?")
print("%d scenes in the documentation, %d failed" % (count, failures))
if count < 6:
    sys.exit("too few examples were found: has the layout of the pages changed?")
sys.exit(1 if failures else 0)
