#include "server.h"

void json_quote(FILE *to, const char *text)
{
    fputc('"', to);
    for (const unsigned char *c = (const unsigned char *)(text ? text : ""); *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(to, "\\%c", *c);
        else if (*c < 0x20 || *c == '<' || *c == '>') /* the text may stand in a page */
            fprintf(to, "\\u%04x", *c);
        else
            fputc(*c, to);
    }
    fputc('"', to);
}

void json_base64(FILE *to, const void *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *b = bytes;
    for (size_t k = 0; k < size; k += 3) {
        size_t left = size - k;
        uint32_t w = (uint32_t)b[k] << 16 | (left > 1 ? (uint32_t)b[k + 1] << 8 : 0) | (left > 2 ? b[k + 2] : 0);
        char out[4] = { digits[w >> 18], digits[w >> 12 & 63], left > 1 ? digits[w >> 6 & 63] : '=', left > 2 ? digits[w & 63] : '=' };
        fwrite(out, 1, 4, to);
    }
}
