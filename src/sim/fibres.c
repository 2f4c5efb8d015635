/* Fibres of a definition: their table, their checks, their copy, and how to look at them. */
#include "base/error.h"
#include "base/param.h"
#include "sim/sim_internal.h"

#include <math.h>
#include <string.h>

#define F(member) offsetof(rp_fibres_def, member)

static const rp_param fibres_table[] = {
    { "section", RP_ENUM, F(section), RP_SECTION_ELLIPSE, 0, 1, "", "shape of the section", "ellipse|rectangle" },
    { "radius", RP_REAL, F(radius), 1e-3, 1e-7, 10, "m", "of a round fibre; half the width and height where they are not given", NULL },
    { "width", RP_REAL, F(width), 0, 0, 10, "m", "of the section along its first axis; 0: twice the radius", NULL },
    { "height", RP_REAL, F(height), 0, 0, 10, "m", "of the section along its second axis; 0: twice the radius", NULL },
    { "density", RP_REAL, F(density), 1300, 1e-3, 1e6, "kg/m3", "of the fibre itself", NULL },
    { "youngs_modulus", RP_REAL, F(youngs_modulus), 4e9, 1e-3, 1e13, "Pa", "stiffness in bending, twist and stretch", NULL },
    { "poisson_ratio", RP_REAL, F(poisson_ratio), 0.35, 0, 0.5, "", "Poisson's ratio: twist is stiff as E / (2 (1 + nu))", NULL },
    { "friction", RP_REAL, F(friction), 0.3, 0, 1e3, "", "Coulomb coefficient between two of them; with other things the geometric mean", NULL },
    { "damping", RP_REAL, F(damping), 0, 0, 1e3, "s", "internal: the time in which a strain rate gives as much force as its strain", NULL },
    { "stretch", RP_REAL, F(stretch), 1e-3, 0, 1, "",
      "strain allowed under ten times the fibre's weight or the load that would buckle it; stretch is made softer up to that. 0: as stiff as "
      "the modulus says",
      NULL },
    { "root", RP_ENUM, F(root), RP_FIBRE_FREE, 0, 2, "", "the first end", "free|pinned|clamped" },
    { "tip", RP_ENUM, F(tip), RP_FIBRE_FREE, 0, 2, "", "the last end", "free|pinned|clamped" },
    { "rest", RP_ENUM, F(rest), RP_REST_AS_GIVEN, 0, 2, "",
      "shape without forces: straight (with curvature and twist), as the nodes are, or such that gravity holds the nodes",
      "straight|as_given|sag-free" },
    { "curvature", RP_REAL, F(curvature), 0, -1e6, 1e6, "1/m",
      "natural curvature of a straight rest shape, towards the first axis of the section", NULL },
    { "curvature_2", RP_REAL, F(curvature_2), 0, -1e6, 1e6, "1/m", "the same towards the second axis", NULL },
    { "twist", RP_REAL, F(twist), 0, -1e6, 1e6, "rad/m", "natural twist of a straight rest shape", NULL },
    { "director", RP_VEC3, F(director), 0, -1e300, 1e300, "", "first axis of the section at the root; [0, 0, 0] for any", NULL },
    { "velocity", RP_VEC3, F(velocity), 0, -1e9, 1e9, "m/s", "at the start", NULL },
    { "colour", RP_TEXT, F(colour), 0, 0, 0, "", "colour in pictures: '#rrggbb' or a palette's name", "#6b4a2b" },
    { 0 },
};

const rp_param *rp_fibres_table(void)
{
    return fibres_table;
}

rp_fibres_def rp_default_fibres_def(void)
{
    rp_fibres_def def;
    memset(&def, 0, sizeof def);
    rp__param_defaults(fibres_table, &def);
    def.body = def.tip_body = -1;
    def.cookie = RP__SIM_COOKIE;
    return def;
}

rp_result rp__sim_check_fibres(const rp_sim_def *def, const rp__method *method)
{
    if (def->fibres_count > 0 && !method->fibres)
        return rp__base_fail(RP_UNSUPPORTED, "method '%s' knows no fibres; 'contact' does", method->info.name);
    if (def->fibres_count > 0 && def->dim != 3)
        return rp__base_fail(RP_UNSUPPORTED, "fibres need a 3D scene");
    double nodes = 0;
    for (int k = 0; k < def->fibres_count; k++) {
        const rp_fibres_def *f = &def->fibres[k];
        RP_TRY(rp__sim_check_cookie(f->cookie, "fibres"));
        rp_result result = rp__param_check(fibres_table, f);
        if (result != RP_OK)
            return rp__base_fail_prefix(result, "fibres '%s': ", f->name ? f->name : "");
        if (f->count < 0 || (f->count > 0 && (!f->nodes || !f->counts)))
            return rp__base_fail(RP_BAD_ARGUMENT, "fibres '%s' have no nodes", f->name ? f->name : "");
        for (int e = 0; e < 2; e++) {
            int body = e == 0 ? f->body : f->tip_body;
            if (body < -1 || body >= def->body_count)
                return rp__base_fail(RP_BAD_ARGUMENT, "fibres '%s' are fixed to body %d; there are %d", f->name ? f->name : "", body, def->body_count);
        }
        for (int64_t i = 0; i < f->count; i++) {
            if (f->counts[i] < 2)
                return rp__base_fail(RP_BAD_ARGUMENT, "fibres '%s', fibre %lld: it has %d node%s; it needs at least 2", f->name ? f->name : "",
                                     (long long)i + 1, f->counts[i], f->counts[i] == 1 ? "" : "s");
            nodes += f->counts[i];
        }
    }
    if (nodes > (double)def->particle_limit)
        return rp__base_fail(RP_TOO_LARGE, "the fibres have %.3g nodes; the limit is %lld", nodes, (long long)def->particle_limit);
    return RP_OK;
}

static void *copied(rp_sim *sim, const void *from, size_t size)
{
    void *to = rp__arena_alloc(&sim->arena, size);
    if (to && size)
        memcpy(to, from, size);
    return to;
}

rp_result rp__sim_copy_fibres(rp_sim *sim, const rp_sim_def *def)
{
    rp_fibres_def *all = copied(sim, def->fibres, (size_t)def->fibres_count * sizeof *all);
    sim->def.fibres_count = 0;
    if (!all)
        return RP_OUT_OF_MEMORY;
    for (int k = 0; k < def->fibres_count; k++) {
        rp_fibres_def *f = &all[k];
        const char *name = f->name ? f->name : "", *colour = f->colour ? f->colour : "";
        int64_t nodes = 0;
        for (int64_t i = 0; i < f->count; i++)
            nodes += f->counts[i];
        f->name = copied(sim, name, strlen(name) + 1);
        f->colour = copied(sim, colour, strlen(colour) + 1);
        f->counts = copied(sim, f->counts, (size_t)f->count * sizeof *f->counts);
        f->nodes = copied(sim, f->nodes, 3 * (size_t)nodes * sizeof *f->nodes);
        if (!f->name || !f->colour || !f->counts || !f->nodes)
            return RP_OUT_OF_MEMORY;
    }
    sim->def.fibres = all;
    sim->def.fibres_count = def->fibres_count;
    return RP_OK;
}

rp_result rp_sim_fibres(rp_sim *sim, rp_fibres_view *view)
{
    memset(view, 0, sizeof *view);
    return sim->method->fibres ? sim->method->fibres(sim->state, &sim->world, view) : RP_OK;
}
