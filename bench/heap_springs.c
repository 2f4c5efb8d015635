/* The heaps of `repose validate pbd-heap` in another way: soft balls with springs and dashpots and short explicit steps, the discrete elements of
 * [cundall1979]. It shares nothing with the library, so that its angles are a reference for those of pbd.
 *
 * bench_heap_springs PLACES.csv [--friction MU] [--until T] [--stiffness K] [--spin] > PLACES-AT-THE-END.csv
 *
 * Balls of one radius r = 2 cm begin at rest at the places (columns x, y, z, as `repose convert` writes them) above a sticking disc, z = 0.2 m, of
 * radius 0.52 m. Force of a contact with overlap d > 0 and approach d':  n (k d + c d'),  never pulling; t = -k_t s, s the slip since it began,
 * |t| <= mu |n|. The dashpot leaves a tenth of the speed. Balls do not spin, unless --spin. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 20 };              /* neighbours of a ball that come after it in the list */
static const double r = 0.02, level = 0.2, disc = 0.52, density = 1600, skin = 0.008, gravity = 9.81;

typedef struct neighbour {
    int j;
    double slip[3];
} neighbour;

typedef struct bed {
    int n;
    double (*x)[3], (*v)[3], (*w)[3], (*f)[3], (*m)[3], (*listed)[3];
    neighbour (*near)[MOST], (*was)[MOST];
    int *count, *was_count;
    double (*floor)[3];          /* slip on the disc */
    double k, c, mu, mass;
    bool spin;
} bed;

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double a[3], const double b[3], double out[3])
{
    for (int e = 0; e < 3; e++)
        out[e] = a[(e + 1) % 3] * b[(e + 2) % 3] - a[(e + 2) % 3] * b[(e + 1) % 3];
}

static bool near_enough(const bed *b, int i, int j)
{
    double d[3], reach = 2 * r + skin;
    for (int e = 0; e < 3; e++)
        d[e] = b->x[i][e] - b->x[j][e];
    return dot(d, d) < reach * reach;
}

/* Pairs nearer than 2 r + skin, by cells; slips go along. */
static void list_pairs(bed *b)
{
    double width = 2 * r + skin, low[3] = { -1.2, -1.2, -0.2 };
    int size[3] = { (int)(2.4 / width) + 3, (int)(2.4 / width) + 3, (int)(1.8 / width) + 3 }, cells = size[0] * size[1] * size[2];
    int *first = malloc(sizeof *first * (size_t)cells), *next = malloc(sizeof *next * (size_t)b->n);
    void *swap = b->near;
    b->near = b->was, b->was = swap;
    swap = b->count, b->count = b->was_count, b->was_count = swap;
    for (int c = 0; c < cells; c++)
        first[c] = -1;
    for (int i = 0; i < b->n; i++) {
        int at[3];
        for (int e = 0; e < 3; e++) {
            at[e] = (int)((b->x[i][e] - low[e]) / width) + 1;
            at[e] = at[e] < 1 ? 1 : at[e] > size[e] - 2 ? size[e] - 2 : at[e];
        }
        int cell = (at[2] * size[1] + at[1]) * size[0] + at[0];
        b->count[i] = 0;
        for (int z = -1; z <= 1; z++)
            for (int y = -1; y <= 1; y++)
                for (int x = -1; x <= 1; x++)
                    for (int j = first[cell + (z * size[1] + y) * size[0] + x]; j >= 0; j = next[j]) {
                        if (!near_enough(b, i, j) || b->count[i] == MOST)
                            continue;
                        neighbour *to = &b->near[i][b->count[i]++];
                        *to = (neighbour){ .j = j };
                        for (int k = 0; k < b->was_count[i]; k++)
                            if (b->was[i][k].j == j)
                                memcpy(to->slip, b->was[i][k].slip, sizeof to->slip);
                        for (int k = 0; k < b->was_count[j]; k++)
                            for (int e = 0; e < 3 && b->was[j][k].j == i; e++)
                                to->slip[e] = -b->was[j][k].slip[e];
                    }
        next[i] = first[cell];
        first[cell] = i;
    }
    memcpy(b->listed, b->x, sizeof *b->x * (size_t)b->n);
    free(first), free(next);
}

/* Force on the one that n points to; `speed` is its own against the other at the contact. */
static void contact(const bed *b, const double n[3], double overlap, const double speed[3], double mu, double dt, double slip[3], double force[3])
{
    double along = dot(speed, n), push = b->k * overlap - b->c * along, out = dot(slip, n), length = 0;
    push = push > 0 ? push : 0;
    for (int e = 0; e < 3; e++) {
        slip[e] += (speed[e] - along * n[e]) * dt - out * n[e];
        force[e] = -0.8 * b->k * slip[e] - b->c * (speed[e] - along * n[e]);
        length += force[e] * force[e];
    }
    length = sqrt(length);
    double part = length > mu * push ? mu * push / length : 1;
    for (int e = 0; e < 3; e++) {
        force[e] *= part;
        if (part < 1)
            slip[e] = -force[e] / (0.8 * b->k);
        force[e] += push * n[e];
    }
}

static void pair_forces(bed *b, int i, double dt)
{
    for (int k = 0; k < b->count[i]; k++) {
        neighbour *to = &b->near[i][k];
        double n[3], speed[3], force[3], turn[3], roll[3];
        for (int e = 0; e < 3; e++)
            n[e] = b->x[i][e] - b->x[to->j][e];
        double square = dot(n, n);
        if (square >= 4 * r * r) {
            memset(to->slip, 0, sizeof to->slip);
            continue;
        }
        double length = sqrt(square);
        for (int e = 0; e < 3; e++)
            n[e] /= length, turn[e] = -r * (b->w[i][e] + b->w[to->j][e]);
        cross(turn, n, roll);
        for (int e = 0; e < 3; e++)
            speed[e] = b->v[i][e] - b->v[to->j][e] + roll[e];
        contact(b, n, 2 * r - length, speed, b->mu, dt, to->slip, force);
        cross(n, force, turn);
        for (int e = 0; e < 3; e++) {
            b->f[i][e] += force[e], b->f[to->j][e] -= force[e];
            b->m[i][e] -= r * turn[e], b->m[to->j][e] -= r * turn[e];
        }
    }
}

static void floor_force(bed *b, int i, double dt)
{
    double from = hypot(b->x[i][0], b->x[i][1]), n[3] = { 0, 0, b->x[i][2] - level }, force[3], turn[3], roll[3], speed[3];
    if (from > disc) /* the rim */
        for (int e = 0; e < 2; e++)
            n[e] = b->x[i][e] * (1 - disc / from);
    double length = sqrt(dot(n, n));
    if (length >= r || n[2] < 0 || length <= 0) {
        memset(b->floor[i], 0, sizeof b->floor[i]);
        return;
    }
    for (int e = 0; e < 3; e++)
        n[e] /= length, turn[e] = -r * b->w[i][e];
    cross(turn, n, roll);
    for (int e = 0; e < 3; e++)
        speed[e] = b->v[i][e] + roll[e];
    contact(b, n, r - length, speed, 1e3, dt, b->floor[i], force);
    cross(n, force, turn);
    for (int e = 0; e < 3; e++)
        b->f[i][e] += force[e], b->m[i][e] -= r * turn[e];
}

/* One step; the largest way since the pairs were listed, squared. */
static double step(bed *b, double dt)
{
    double most = 0, inertia = 0.4 * b->mass * r * r;
    for (int i = 0; i < b->n; i++)
        for (int e = 0; e < 3; e++)
            b->f[i][e] = e == 2 ? -gravity * b->mass : 0, b->m[i][e] = 0;
    for (int i = 0; i < b->n; i++) {
        pair_forces(b, i, dt);
        floor_force(b, i, dt);
    }
    for (int i = 0; i < b->n; i++) {
        double way = 0;
        if (b->x[i][2] < 0) /* over the edge and gone: kept where it hits nobody */
            memset(b->v[i], 0, sizeof b->v[i]), memset(b->f[i], 0, sizeof b->f[i]), b->x[i][2] = -10 - i;
        for (int e = 0; e < 3; e++) {
            b->v[i][e] += b->f[i][e] / b->mass * dt;
            b->x[i][e] += b->v[i][e] * dt;
            b->w[i][e] += b->spin ? b->m[i][e] / inertia * dt : 0;
            way += (b->x[i][e] - b->listed[i][e]) * (b->x[i][e] - b->listed[i][e]);
        }
        most = b->x[i][2] > -1 && way > most ? way : most;
    }
    return most;
}

static int read_places(const char *path, bed *b)
{
    FILE *in = fopen(path, "r");
    char line[4096];
    int column[3] = { 0, 1, 2 }, room = 0;
    if (!in || !fgets(line, sizeof line, in))
        return -1;
    int at = 0;
    for (char *name = strtok(line, ",\n"); name; name = strtok(NULL, ",\n"), at++)
        for (int e = 0; e < 3; e++)
            if ((name[0] == "xyz"[e] && name[1] == 0) || (strncmp(name, "position", 8) == 0 && name[strlen(name) - 1] == "xyz"[e]))
                column[e] = at;
    while (fgets(line, sizeof line, in)) {
        if (b->n == room)
            b->x = realloc(b->x, sizeof *b->x * (size_t)(room = 2 * room + 64));
        at = 0;
        for (char *number = strtok(line, ",\n"); number; number = strtok(NULL, ",\n"), at++)
            for (int e = 0; e < 3; e++)
                if (at == column[e])
                    b->x[b->n][e] = atof(number);
        b->n++;
    }
    fclose(in);
    return b->n;
}

/* Degrees: the highest balls of twelve sectors of rings two radii wide, their mean a ring, between 15 and 85 % of the height of the heap. */
static double angle(const bed *b)
{
    enum { RINGS = 13, SECTORS = 12 };
    double top[RINGS][SECTORS] = { { 0 } }, apex = 0, sum[5] = { 0 };
    for (int i = 0; i < b->n; i++) {
        double from = hypot(b->x[i][0], b->x[i][1]), z = b->x[i][2] - level;
        int ring = (int)(from / (2 * r)), sector = (int)(SECTORS * (0.5 + atan2(b->x[i][1], b->x[i][0]) / 6.283185307179586)) % SECTORS;
        if (z < 0 || from > disc)
            continue;
        apex = fmax(apex, z);
        if (ring < RINGS)
            top[ring][sector] = fmax(top[ring][sector], z);
    }
    for (int k = 2; k < RINGS; k++) {
        double mean = 0, x = (k + 0.5) * 2 * r;
        for (int c = 0; c < SECTORS; c++)
            mean += top[k][c] / SECTORS;
        if (mean > 0.15 * apex && mean < 0.85 * apex)
            sum[0]++, sum[1] += x, sum[2] += mean, sum[3] += x * x, sum[4] += x * mean;
    }
    return -atan((sum[0] * sum[4] - sum[1] * sum[2]) / (sum[0] * sum[3] - sum[1] * sum[1])) * 57.29577951308232;
}

int main(int argc, char **argv)
{
    bed b = { .k = 6e4, .mu = 0.2 };
    double until = 5;
    for (int a = 2; a < argc; a++) {
        if (strcmp(argv[a], "--friction") == 0 && a + 1 < argc)
            b.mu = atof(argv[++a]);
        else if (strcmp(argv[a], "--until") == 0 && a + 1 < argc)
            until = atof(argv[++a]);
        else if (strcmp(argv[a], "--stiffness") == 0 && a + 1 < argc)
            b.k = atof(argv[++a]);
        else if (strcmp(argv[a], "--spin") == 0)
            b.spin = true;
    }
    if (argc < 2 || read_places(argv[1], &b) <= 0) {
        fprintf(stderr, "usage: bench_heap_springs PLACES.csv [--friction MU] [--until T] [--stiffness K] [--spin]\n");
        return 2;
    }
    size_t n = (size_t)b.n;
    b.v = calloc(n, sizeof *b.v), b.w = calloc(n, sizeof *b.w), b.f = calloc(n, sizeof *b.f), b.m = calloc(n, sizeof *b.m);
    b.listed = calloc(n, sizeof *b.listed), b.floor = calloc(n, sizeof *b.floor), b.near = calloc(n, sizeof *b.near), b.was = calloc(n, sizeof *b.was);
    b.count = calloc(n, sizeof *b.count), b.was_count = calloc(n, sizeof *b.was_count);
    b.mass = density * 4 / 3 * 3.14159265358979 * r * r * r;
    double ln = log(0.1), zeta = -ln / sqrt(ln * ln + 9.8696);
    b.c = 2 * zeta * sqrt(0.5 * b.mass * b.k);
    double dt = 3.14159265358979 * sqrt(0.5 * b.mass / b.k) / 40;
    list_pairs(&b);
    for (double t = 0; t < until; t += dt)
        if (step(&b, dt) > 0.25 * skin * skin)
            list_pairs(&b);
    double fastest = 0;
    printf("x,y,z\n");
    for (int i = 0; i < b.n; i++) {
        if (b.x[i][2] < level)
            continue;
        printf("%.9g,%.9g,%.9g\n", b.x[i][0], b.x[i][1], b.x[i][2]);
        fastest = fmax(fastest, dot(b.v[i], b.v[i]));
    }
    fprintf(stderr, "friction %g, %s, stiffness %g N/m: %d balls, %.1f degrees, the fastest on the disc at %g mm/s\n", b.mu,
            b.spin ? "spinning" : "without spin", b.k, b.n, angle(&b), 1e3 * sqrt(fastest));
    return 0;
}
