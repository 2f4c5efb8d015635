"""What others read in our files: frames with h5py and VTK, converted ones with VTK, NumPy, csv and Blender.

Every reader is compared with the plain bytes of the frame as h5py gives them. A reader that is not installed is named and left out.
"""
import csv
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

DEBIAN_PYTHON = "/usr/bin/python3"
try:
    import h5py
    import numpy as np
except ImportError:  # another Python came first on the path
    if os.path.exists(DEBIAN_PYTHON) and os.path.realpath(sys.executable) != os.path.realpath(DEBIAN_PYTHON):
        os.execv(DEBIAN_PYTHON, [DEBIAN_PYTHON] + sys.argv)
    print("skipped: neither h5py nor NumPy here")
    sys.exit(77)
try:
    import vtk
    from vtk.util.numpy_support import vtk_to_numpy
except ImportError:
    vtk = None
    print("without VTK: python3-vtk9 is not installed")

REPOSE = os.environ["REPOSE"]
SCRATCH = pathlib.Path(os.environ.get("SCRATCH", ".")) / "readers"
SCENES = {
    "three": """
method: ballistic
domain: [1, 1, 1]
cell_size: 5 cm
duration: 0.3 s
frame_rate: 20
material: dry-sand
walls: {all: slip, bottom: 0.5}
grains:
  - {name: cloud, shape: {sphere: {centre: [0.5, 0.5, 0.6], radius: 20 cm}}, velocity: [0.3, 0, 0]}
emitters:
  - {name: rain, shape: {box: {lower: [0.1, 0.1, 0.9], upper: [0.9, 0.9, 0.95]}}, rate: 2 l/s, velocity: [0, 0, -1]}
bodies:
  - {name: ball, shape: {sphere: {radius: 10 cm}}, position: [0.5, 0.5, 0.2], surface: 0.4}
  - {name: paddle, shape: {box: {size: [0.3, 0.06, 0.06]}}, motion: "0.8, 0.5, 0.15, 0, 0, 3 * t"}
""",
    "two": """
method: ballistic
domain: [1, 1]
cell_size: 5 cm
duration: 0.2 s
frame_rate: 20
material: dry-sand
grains:
  - {name: block, shape: {box: {lower: [0.2, 0.3], upper: [0.6, 0.6]}}}
""",
}


def run(*arguments):
    done = subprocess.run([REPOSE, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, f"{arguments}: {done.returncode}\n{done.stderr}"
    return done.stdout


def frame_of(path):
    """Every array of a frame, by h5py alone."""
    with h5py.File(path) as file:
        root = file["VTKHDF"]
        arrays = {"position": root["Points"][()]}
        arrays.update({name: data[()] for name, data in root["PointData"].items()})
        facts = {name: value for name, value in file["REPOSE"].attrs.items()}
    return arrays, facts


def check_layout(path, dim):
    """The layout that VTKHDF 1.0 asks for."""
    with h5py.File(path) as file:
        root = file["VTKHDF"]
        assert list(root.attrs["Version"]) == [1, 0], root.attrs["Version"]
        assert root.attrs["Type"] == b"UnstructuredGrid", root.attrs["Type"]
        count = int(root["NumberOfPoints"][0])
        assert count > 100
        assert root["NumberOfCells"][0] == root["NumberOfConnectivityIds"][0] == count
        assert root["Points"].shape == (count, 3) and root["Points"].dtype == "<f8"
        assert (root["Connectivity"][()] == np.arange(count)).all()
        assert (root["Offsets"][()] == np.arange(count + 1)).all()
        assert (root["Types"][()] == 1).all() and root["Types"].dtype == "u1"
        for name, data in root["PointData"].items():
            assert data.shape[0] == count, name
        assert {"velocity", "volume", "mass", "material", "id"} <= set(root["PointData"])
        assert root["PointData/velocity"].attrs["unit"] == b"m/s"
        assert len(set(root["PointData/id"][()])) == count
        facts = file["REPOSE"].attrs
        assert facts["dim"] == dim and facts["cell_size"] == 0.05 and facts["frame_rate"] == 20
        assert root["FieldData/TimeValue"][0] == facts["time"]
        assert abs(facts["time"] - facts["frame"] / 20) < 1e-12
        if dim == 3:
            bodies = file["REPOSE/bodies"]
            assert list(bodies["name"][()]) == [b"ball", b"paddle"]
            angle = 3 * facts["time"]  # the paddle turns about z
            assert np.allclose(bodies["orientation"][1], [np.cos(angle / 2), 0, 0, np.sin(angle / 2)], atol=1e-9)
            assert np.allclose(bodies["position"][0], [0.5, 0.5, 0.2])
        else:
            assert "bodies" not in file["REPOSE"]
            assert (root["Points"][:, 2] == 0).all()


def compare_vtk(output, arrays, points=True):
    if points:
        assert (vtk_to_numpy(output.GetPoints().GetData()) == arrays["position"]).all()
    data = output.GetPointData()
    names = {data.GetArrayName(i) for i in range(data.GetNumberOfArrays())}
    assert names == set(arrays) - {"position"}, names
    for name in names:
        found = vtk_to_numpy(data.GetArray(name))
        assert found.dtype == arrays[name].dtype, name
        assert (found == arrays[name]).all(), name


def check_vtk_frame(path, arrays, facts):
    reader = vtk.vtkHDFReader()
    assert reader.CanReadFile(str(path))
    reader.SetFileName(str(path))
    reader.Update()
    output = reader.GetOutputDataObject(0)
    assert output.IsA("vtkUnstructuredGrid")
    assert output.GetNumberOfPoints() == output.GetNumberOfCells() == len(arrays["id"])
    assert output.GetCellType(3) == vtk.VTK_VERTEX and output.GetCell(3).GetPointId(0) == 3
    assert output.GetFieldData().GetArray("TimeValue").GetValue(0) == facts["time"]
    compare_vtk(output, arrays)


def check_vtp(path, arrays, facts):
    reader = vtk.vtkXMLPolyDataReader()
    assert reader.CanReadFile(str(path))
    reader.SetFileName(str(path))
    reader.Update()
    output = reader.GetOutput()
    assert output.GetNumberOfVerts() == len(arrays["id"])
    assert output.GetFieldData().GetArray("TimeValue").GetValue(0) == facts["time"]
    compare_vtk(output, arrays)


def check_pvd(path, frames):
    import xml.etree.ElementTree as tree

    entries = tree.parse(path).getroot().find("Collection").findall("DataSet")
    assert len(entries) == len(frames)
    for entry, (arrays, facts) in zip(entries, frames):
        assert float(entry.get("timestep")) == facts["time"]
        part = path.parent / entry.get("file")
        assert part.exists(), part
        if vtk:
            check_vtp(part, arrays, facts)


COLUMNS = {"position": ["x", "y", "z"], "velocity": ["vx", "vy", "vz"]}


def columns_of(arrays):
    """Name of every column and its numbers."""
    columns = {}
    for name, array in arrays.items():
        if array.ndim == 1:
            columns[name] = array
        else:
            names = COLUMNS.get(name) or {3: "x y z", 6: "xx yy zz xy yz xz", 9: "xx xy xz yx yy yz zx zy zz"}[
                array.shape[1]].split()
            for k, part in enumerate(names):
                columns[part if name in COLUMNS else f"{name}_{part}"] = array[:, k]
    return columns


def check_csv(path, arrays):
    with open(path, newline="") as file:
        rows = list(csv.reader(file))
    columns = columns_of(arrays)
    assert set(rows[0]) == set(columns)
    assert len(rows) - 1 == len(arrays["id"])
    for k, name in enumerate(rows[0]):
        kind = int if columns[name].dtype.kind == "i" else float
        assert [kind(row[k]) for row in rows[1:]] == columns[name].tolist(), name


def check_npz(path, arrays, facts):
    with np.load(path) as archive:
        for name, array in arrays.items():
            assert archive[name].dtype == array.dtype and (archive[name] == array).all(), name
        assert archive["time"] == facts["time"] and archive["frame"] == facts["frame"]
        assert archive["time"].shape == ()
        if facts["dim"] == 3:
            assert list(archive["body_name"]) == [b"ball", b"paddle"]
            assert archive["body_position"].shape == (2, 3)


def check_ply(path, arrays):
    """A reader of our own from the definition of the format, then VTK's, then Blender's."""
    data = path.read_bytes()
    header, body = data.split(b"end_header\n", 1)
    lines = header.decode().split("\n")
    assert lines[0] == "ply" and lines[1] == "format binary_little_endian 1.0"
    kinds = {"double": "<f8", "float": "<f4", "int": "<i4"}
    properties = [line.split() for line in lines if line.startswith("property ") and "list" not in line]
    rows = np.frombuffer(body, np.dtype([(name, kinds[kind]) for _, kind, name in properties]))
    assert f"element vertex {len(arrays['id'])}" in lines and len(rows) == len(arrays["id"])
    assert lines[lines.index("element face 0") + 1] == "property list uchar int vertex_indices"
    for name, column in columns_of(arrays).items():
        assert (rows[name] == column).all(), name
    if vtk:
        reader = vtk.vtkPLYReader()
        reader.SetFileName(str(path))
        reader.Update()
        found = vtk_to_numpy(reader.GetOutput().GetPoints().GetData())
        assert np.allclose(found, arrays["position"], rtol=1e-6, atol=1e-6)


BLENDER = """
import bpy, sys
bpy.ops.wm.read_factory_settings(use_empty=True)
if "ply_import" in dir(bpy.ops.wm):
    bpy.ops.wm.ply_import(filepath=sys.argv[-1])
else:
    import addon_utils
    addon_utils.enable("io_mesh_ply")
    bpy.ops.import_mesh.ply(filepath=sys.argv[-1])
mesh = [o for o in bpy.data.objects if o.type == "MESH"][0].data
print("VERTICES", len(mesh.vertices), len(mesh.polygons), *mesh.vertices[7].co)
"""


def check_blender(path, arrays):
    blender = shutil.which("blender")
    if not blender:
        print("without Blender: it is not installed")
        return
    done = subprocess.run([blender, "--background", "--factory-startup", "--python-expr", BLENDER, "--", str(path)], capture_output=True, text=True)
    found = re.search(r"VERTICES (\d+) (\d+) (\S+) (\S+) (\S+)", done.stdout)
    assert found, done.stdout + done.stderr
    assert int(found[1]) == len(arrays["id"]) and int(found[2]) == 0
    assert np.allclose(sorted(map(abs, map(float, found.groups()[2:]))), sorted(abs(arrays["position"][7])), atol=1e-5)


def usda_arrays(text, name):
    """The samples of an attribute: {time code: array}, or {None: array} without samples."""
    found = re.search(rf"\[\] {name}\.timeSamples = {{(.*?)\n    }}", text, re.S)
    samples = re.findall(r"(\d+): (\[.*?\]),(?:\n|$)", found[1], re.S) if found else [
        (None, re.search(rf"\[\] {name} = (\[.*?\])(?: \(|\n)", text, re.S)[1])]
    result = {}
    for code, numbers in samples:
        values = np.array(json.loads(numbers.replace("(", "[").replace(")", "]")))
        result[None if code is None else int(code)] = values
    return result


def check_usda(path, frames, sampled):
    text = path.read_text()
    assert text.startswith("#usda 1.0\n") and text.count("{") == text.count("}") and text.count("(") == text.count(")")
    assert 'def Points "particles"' in text and "timeCodesPerSecond = 20" in text and "metersPerUnit = 1" in text
    assert f'upAxis = "{"Z" if frames[0][1]["dim"] == 3 else "Y"}"' in text
    assert 'interpolation = "vertex"' in text
    points, velocities, widths, ids, extent = (
        usda_arrays(text, name) for name in ("points", "velocities", "widths", "ids", "extent"))
    for arrays, facts in frames:
        code = int(facts["frame"]) if sampled else None
        assert np.allclose(points[code], arrays["position"], rtol=1e-7, atol=1e-9)
        assert np.allclose(velocities[code], arrays["velocity"], rtol=1e-7, atol=1e-9)
        assert (ids[code] == arrays["id"]).all()
        if facts["dim"] == 3:
            assert np.allclose(np.pi / 6 * widths[code] ** 3, arrays["volume"], rtol=1e-6)
        else:
            assert np.allclose(np.pi / 4 * widths[code] ** 2, arrays["volume"], rtol=1e-6)
        assert (extent[code][0] <= arrays["position"].min(axis=0)).all()
        assert (extent[code][1] >= arrays["position"].max(axis=0)).all()


def check_tables(folder, last):
    with open(folder / "stats.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    wanted = ("step time dt limit particles nodes iterations residual_mean residual_max converged volume_error kinetic_energy "
              "potential_energy emitted removed outside clamped ms_step").split()
    assert set(wanted) <= set(rows[0])
    assert [int(row["step"]) for row in rows] == list(range(1, len(rows) + 1))
    assert int(rows[-1]["particles"]) == len(last["id"])
    energy = 0.5 * (last["mass"] * (last["velocity"] ** 2).sum(axis=1)).sum()
    assert abs(float(rows[-1]["kinetic_energy"]) - energy) <= 1e-9 * energy
    with open(folder / "bodies.csv", newline="") as file:
        bodies = list(csv.DictReader(file))
    return rows, bodies


def check_folder(name, dim):
    folder = SCRATCH / name
    (SCRATCH / f"{name}.yaml").write_text(SCENES[name])
    run("run", SCRATCH / f"{name}.yaml", "-o", folder, "--quiet")
    series = json.loads((folder / "frames.vtkhdf.series").read_text())
    files = sorted((folder / "frames").glob("frame_*.vtkhdf"))
    assert [folder / entry["name"] for entry in series["files"]] == files and len(files) > 3
    assert [entry["time"] for entry in series["files"]] == [i / 20 for i in range(len(files))]
    frames = [frame_of(path) for path in files]
    for path, (arrays, facts) in zip(files, frames):
        check_layout(path, dim)
        if vtk:
            check_vtk_frame(path, arrays, facts)
    rows, bodies = check_tables(folder, frames[-1][0])
    names = [row["body"] for row in bodies if row["step"] == "1"]
    if dim == 3:
        assert names[:2] == ["ball", "paddle"] and "wall-bottom" in names and "wall-front" in names, names
    else:
        assert names == ["wall-left", "wall-right", "wall-bottom", "wall-top"], names
    assert len(bodies) == len(names) * len(rows)
    return folder, files, frames


def check_conversions(folder, files, frames):
    out = SCRATCH / (folder.name + "_converted")
    last, (arrays, facts) = files[-1], frames[-1]
    for kind in "vtp ply csv npz usda".split():
        run("convert", last, out / f"one.{kind}")
    run("convert", last, out / "one.dat", "--format", "npz")
    assert (out / "one.dat").read_bytes() == (out / "one.npz").read_bytes()
    if vtk:
        check_vtp(out / "one.vtp", arrays, facts)
    check_ply(out / "one.ply", arrays)
    check_blender(out / "one.ply", arrays)
    check_csv(out / "one.csv", arrays)
    check_npz(out / "one.npz", arrays, facts)
    check_usda(out / "one.usda", [frames[-1]], False)
    run("convert", folder, out / "all.usda")
    check_usda(out / "all.usda", frames, True)
    run("convert", folder, out / "all.pvd")
    check_pvd(out / "all.pvd", frames)
    run("convert", folder, out / "all.npz")
    for arrays, facts in frames:
        check_npz(out / f"all_{facts['frame']:06d}.npz", arrays, facts)
    run("convert", folder, out / "plys", "--format", "ply")
    for arrays, facts in frames:
        check_ply(out / "plys" / f"frame_{facts['frame']:06d}.ply", arrays)


def check_info(folder, files, frames):
    facts = json.loads(run("info", folder, "--json"))
    assert facts["kind"] == "run" and facts["frames"] == len(files) and facts["method"] == "ballistic"
    facts = json.loads(run("info", files[-1], "--json"))
    assert facts["particles"] == len(frames[-1][0]["id"]) and facts["time"] == frames[-1][1]["time"]
    assert facts["fields"]["velocity"]["most"] == frames[-1][0]["velocity"].max()
    newest = sorted((folder / "checkpoints").glob("*.checkpoint"))[-1]
    facts = json.loads(run("info", newest, "--json"))
    assert facts["kind"] == "checkpoint" and facts["frame"] == frames[-1][1]["frame"]
    assert "velocity" in run("info", files[-1])


def main():
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    if not os.access(REPOSE, os.X_OK):
        print(f"skipped: no command at {REPOSE}")
        return 77
    for name, dim in (("three", 3), ("two", 2)):
        folder, files, frames = check_folder(name, dim)
        check_conversions(folder, files, frames)
        check_info(folder, files, frames)
        print(f"{name}: {len(files)} frames, {len(frames[-1][0]['id'])} particles read back by others")
    shutil.rmtree(SCRATCH)
    return 0


if __name__ == "__main__":
    sys.exit(main())
