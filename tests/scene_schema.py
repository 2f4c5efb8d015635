"""The JSON Schema is a schema, takes every bundled scene (as written and as run), and refuses broken ones."""
import glob
import json
import os
import subprocess
import sys

try:
    import jsonschema
    import yaml
except ImportError as error:
    print("skipped:", error)
    sys.exit(77)

repose, source = os.environ["REPOSE"], os.environ["SOURCE"]
schema = json.loads(subprocess.run([repose, "schema"], check=True, capture_output=True, text=True).stdout)
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
wrong = 0


def errors(path):
    with open(path, encoding="utf-8") as file:
        scene = yaml.safe_load(file)
    return [f"{'/'.join(map(str, e.absolute_path))}: {e.message[:200]}" for e in validator.iter_errors(scene)]


scenes = sorted(glob.glob(os.path.join(source, "scenes", "**", "*.yaml"), recursive=True))
assert scenes, "no scenes"
for path in scenes:
    for message in errors(path):
        print(f"{path}: {message}")
        wrong += 1

# what a schema can see; values that only make sense together are the reader's business
for name in ("unknown_key", "unknown_key_far", "a_list", "no_domain", "output_key", "out_of_range", "bad_choice", "wall_name",
             "wall_kind", "unknown_shape", "shape_key", "shape_two_kinds", "shape_text", "no_shape", "material_key",
             "unknown_preset", "method_param", "method_param_range", "dimension_5", "four_numbers", "fraction_for_whole"):
    if not errors(os.path.join(source, "tests", "scenes_bad", name + ".yaml")):
        print(f"{name}: the schema takes it")
        wrong += 1

sys.exit(1 if wrong else 0)
