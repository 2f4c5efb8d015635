#!/usr/bin/env python3
"""Makes the damaged checkpoints of this folder: NAME.checkpoint, and NAME.txt with the words the refusal must contain."""
import pathlib
import struct

HERE = pathlib.Path(__file__).parent
SCENE = b"method: ballistic\n"


def crc64(data):
    crc = (1 << 64) - 1
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ 0xC96C5795D7870F42 if crc & 1 else crc >> 1
    return crc ^ ((1 << 64) - 1)


def entry(name, kind, count, place, data, reserved=0):
    return struct.pack("<64siIqQQ", name, kind, reserved, count, place, crc64(data))


def checkpoint(entries=None, version=1, mark=0x01020304, blobs=None, scene=SCENE, scene_size=None, file_size=None, step=3, frame=1,
               time=0.5, head_size=96, data=struct.pack("<4d", 1, 2, 3, 4), tail=b""):
    scene_size = len(scene) if scene_size is None else scene_size
    count = 1 if entries is None else len(entries) // 96
    place = (96 + 96 * count + len(scene) + 63) // 64 * 64
    if entries is None:
        entries = entry(b"x", 0, len(data) // 8, place, data)
    body = entries + scene
    body += bytes(place - 96 - len(body)) + data + tail
    file_size = 96 + len(body) if file_size is None else file_size
    head = struct.pack("<8sIIQqqdQQIIQQ", b"REPOSECP", version, mark, file_size, step, frame, time, scene_size, crc64(scene),
                       count if blobs is None else blobs, head_size, crc64(entries), 0)
    return head + struct.pack("<Q", crc64(head)) + body


GOOD = checkpoint()
DATA = struct.pack("<4d", 1, 2, 3, 4)
PLACE = 256


def flipped(place):
    damaged = bytearray(GOOD)
    damaged[place] ^= 0x10
    return bytes(damaged)


FILES = {
    "empty": (b"", "is not a checkpoint of Repose"),
    "text": (b"this is a text, not a checkpoint\n", "is not a checkpoint of Repose"),
    "hdf5": (b"\x89HDF\r\n\x1a\n" + bytes(200), "is not a checkpoint of Repose"),
    "short_head": (GOOD[:50], "it ends within the head"),
    "truncated": (GOOD[:-1], "it has 287 bytes and should have 288"),
    "lengthened": (GOOD + b"\0", "it has 289 bytes and should have 288"),
    "version_9": (checkpoint(version=9), "is a checkpoint of version 9; this program reads version 1"),
    "other_byte_order": (checkpoint(mark=0x04030201), "another byte order"),
    "head_flipped": (flipped(40), "the checksum of its head is wrong"),
    "table_flipped": (flipped(100), "the checksum of its table is wrong"),
    "scene_flipped": (flipped(195), "the checksum of its scene is wrong"),
    "data_flipped": (flipped(PLACE + 9), "the checksum of array 'x' is wrong"),
    "nan_time": (checkpoint(time=float("nan")), "its step, frame or time is not a number from 0"),
    "negative_step": (checkpoint(step=-1), "its step, frame or time is not a number from 0"),
    "many_blobs": (checkpoint(blobs=0xFFFFFFFF), "its head claims more than the file holds"),
    "huge_scene": (checkpoint(scene_size=1 << 63), "its head claims more than the file holds"),
    "huge_file": (checkpoint(file_size=1 << 50), "should have 1125899906842624"),
    "huge_count": (checkpoint(entry(b"x", 0, (1 << 63) - 1, PLACE, DATA)), "array 'x' lies outside the file"),
    "wrapping_count": (checkpoint(entry(b"x", 0, 1 << 61, PLACE, DATA)), "array 'x' lies outside the file"),
    "negative_count": (checkpoint(entry(b"x", 0, -4, PLACE, DATA)), "array 'x' lies outside the file"),
    "other_place": (checkpoint(entry(b"x", 0, 4, PLACE + 64, DATA)), "array 'x' lies outside the file"),
    "overlapping": (checkpoint(entry(b"x", 0, 4, 0, DATA)), "array 'x' lies outside the file"),
    "unknown_type": (checkpoint(entry(b"x", 17, 4, PLACE, DATA)), "array 'x' has an unknown type"),
    "no_name": (checkpoint(entry(b"", 0, 4, PLACE, DATA)), "an array has no proper name"),
    "long_name": (checkpoint(entry(b"x" * 64, 0, 4, PLACE, DATA)), "an array has no proper name"),
    "unused_bytes": (checkpoint(tail=b"extra"), "there are bytes after its end"),
    "gap_filled": (flipped(220), "there are bytes between its arrays"),
    "other_head": (checkpoint(head_size=128), "its head has an unknown form"),
}

if __name__ == "__main__":
    for name, (data, sentence) in FILES.items():
        (HERE / f"{name}.checkpoint").write_bytes(data)
        (HERE / f"{name}.txt").write_text(sentence + "\n")
    same = checkpoint()
    assert same == GOOD and len(GOOD) == 288
