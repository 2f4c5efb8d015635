/* libFuzzer target: checkpoints from hostile bytes. The checksums are made right first, so that what stands behind them is
 * reached; every second input is also tried as it is. */
#include "base/memory.h"
#include "io/io.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 96, ENTRY = 96, HEAD_CRC = 88, TABLE_CRC = 72, BLOBS = 64, SCENE_SIZE = 48, SCENE_CRC = 56, FILE_SIZE = 16 };

static void seal(unsigned char *bytes, size_t size)
{
    uint32_t blobs;
    uint64_t scene, crc, whole = size;
    memcpy(&blobs, bytes + BLOBS, sizeof blobs);
    memcpy(&scene, bytes + SCENE_SIZE, sizeof scene);
    memcpy(bytes + FILE_SIZE, &whole, sizeof whole);
    if (blobs <= (size - HEAD) / ENTRY) {
        for (uint32_t b = 0; b < blobs; b++) {
            unsigned char *entry = bytes + HEAD + b * ENTRY;
            int32_t type;
            int64_t count;
            uint64_t place;
            memcpy(&type, entry + 64, sizeof type);
            memcpy(&count, entry + 72, sizeof count);
            memcpy(&place, entry + 80, sizeof place);
            uint64_t width = type == RP_F64 || type == RP_I64 ? 8 : 4;
            if (place <= size && count >= 0 && (uint64_t)count <= (size - place) / width) {
                crc = rp__io_crc64(0, bytes + place, (size_t)((uint64_t)count * width));
                memcpy(entry + 88, &crc, sizeof crc);
            }
        }
        size_t text = HEAD + blobs * ENTRY;
        if (scene <= size - text) {
            crc = rp__io_crc64(0, bytes + text, (size_t)scene);
            memcpy(bytes + SCENE_CRC, &crc, sizeof crc);
        }
        crc = rp__io_crc64(0, bytes + HEAD, blobs * ENTRY);
        memcpy(bytes + TABLE_CRC, &crc, sizeof crc);
    }
    crc = rp__io_crc64(0, bytes, HEAD_CRC);
    memcpy(bytes + HEAD_CRC, &crc, sizeof crc);
}

static void try_bytes(const void *data, size_t size)
{
    rp__io_checkpoint_info info;
    char *text = NULL;
    rp_state state = { 0 };
    if (rp__io_checkpoint_parse(data, size, "input", &info, &text, &state) == RP_OK) {
        rp__base_free(text);
        rp_state_free(&state);
    } else if (text || state.count || !rp_last_error()[0]) {
        __builtin_trap();
    }
    if (rp_memory_in_use() != 0)
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char start[16] = { 'R', 'E', 'P', 'O', 'S', 'E', 'C', 'P', RP_IO_CHECKPOINT_VERSION, 0, 0, 0, 4, 3, 2, 1 };
    try_bytes(data, size);
    if (size < HEAD || size > 1 << 20)
        return 0;
    static unsigned char sealed[1 << 20];
    memcpy(sealed, data, size);
    memcpy(sealed, start, sizeof start);
    seal(sealed, size);
    try_bytes(sealed, size);
    return 0;
}
