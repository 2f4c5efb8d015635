"""The sources keep to one habit of formatting, in what tells one hand from another: see .clang-format for the rest."""
import os
import re
import subprocess
import sys

LONGEST = 160
SOURCES = (".c", ".h", ".cpp", ".py", ".sh", ".js", ".css", ".yaml", ".cmake", ".dict")
KEYWORD = re.compile(r"\b(if|for|while|switch)\(")


def faults(name, data):
    """What is not as it should be in a file, as (line, sentence)."""
    found = []
    if b"\r" in data:
        found.append((1, "lines end with a carriage return"))
    if data and not data.endswith(b"\n"):
        found.append((data.count(b"\n") + 1, "the last line has no end"))
    word = re.compile(r'(#.*|([A-Za-z_0-9]+=)?"([ !#-\[\]-~]|\\x[0-9A-Fa-f]{2}|\\[\\"])+")?$')   # as libFuzzer reads it, else it does not start
    in_c = name.endswith((".c", ".h", ".cpp"))
    for number, line in enumerate(data.decode("utf-8").split("\n"), 1):
        if name.endswith(".dict") and not word.match(line):
            found.append((number, "no word of a dictionary"))
        if "\t" in line:
            found.append((number, "a tab"))
        if line != line.rstrip():
            found.append((number, "blanks at the end"))
        if in_c and len(line) > LONGEST:
            found.append((number, "%d columns; at most %d" % (len(line), LONGEST)))
        code = re.sub(r'"(\\.|[^"\\])*"', '""', line).split("//")[0]
        if in_c and not line.lstrip().startswith(("*", "/*")) and KEYWORD.search(code.split("/*")[0]):
            found.append((number, "no blank after the keyword"))
    return found


def files(source):
    try:
        names = subprocess.run(["git", "-C", source, "ls-files"], capture_output=True, text=True, check=True).stdout.split("\n")
    except (OSError, subprocess.CalledProcessError):
        names = [os.path.relpath(os.path.join(d, f), source) for top in ("src", "apps", "include", "tests", "examples", "bench", "tools")
                 for d, _, fs in os.walk(os.path.join(source, top)) for f in fs]
    return [n for n in names if n.endswith(SOURCES) and os.path.isfile(os.path.join(source, n)) and "/scenes_bad/" not in "/" + n]


def main():
    # the check itself: each fault is seen, and what is right is not
    for text in ("int a;\r\n", "int a;", "\tint a;\n", "int a; \n", "int " + "a" * LONGEST + ";\n", "if(a)\n"):
        assert faults("x.c", text.encode()), "not seen: %r" % text
    for text in ('""\n', '"\u00b5m"\n', 'word\n', '"\\y"\n', '"a"b"\n'):
        assert faults("x.dict", text.encode()), "not seen: %r" % text
    assert not faults("x.dict", b'# words\n\n"a b"\nname="\\xc2\\xb5m"\n"\\\\\\""\n')
    assert not faults("x.c", b'if (a)\n    f("if(b)"); /* while(c) */\n')
    source = os.environ.get("SOURCE", ".")
    bad = 0
    for name in files(source):
        with open(os.path.join(source, name), "rb") as f:
            for line, what in faults(name, f.read()):
                print("%s:%d: %s" % (name, line, what))
                bad += 1
    return 1 if bad else 0


sys.exit(main())
