/* Rules that are not in the equations. Each has its reason; tests that turn them off one by one are still wanted.
 *
 * Full cells. g_cj = sum_p V_p ∇N_j(x_p) is an integral over the grains of a cell, taken at the particles. In a cell that grains fill evenly the
 * integral is φ ∫∇N_j = φ D_cj, but a few particles give it with an error of some per cent; and where drag is strong, grains and fluid have one
 * velocity, which then has to obey two constraints a cell, g·u = 0 and D·u = 0, that differ by that error: the flow locks. So the exact
 * integral is used where every corner of a cell holds grains packed as its own are, and the particles where a corner is nearer to the edge
 * of the material. Both tend to the same as cells are refined. */
#ifndef RP_DIPHASIC_CLOSURE_H
#define RP_DIPHASIC_CLOSURE_H

/* Volume fraction at the emptiest corner, a part of what the particles of the cell know of themselves: from here on the particles, and the
 * integral, count alone. Half is a straight edge through the cell. */
#define DP_EDGE 0.5
#define DP_FULL 0.9

/* Solver. What a round leaves of the outflow of cells: where drag is strong it is seen as a slip between the phases. */
#define DP_PRESSURE_PART 0.02

/* Rounds after which a residual that has not halved makes visits more careful. */
#define DP_PATIENCE 10

#endif
