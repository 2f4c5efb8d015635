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

/* Bending. A stress that is constant in a cell does not see velocities that alternate between its corners: weights that differ a little from node
 * to node (grains placed at random) then drive them for ever, and heaps creep and thicken. So the stress of a cell also has parts that vary
 * linearly over it, held by friction: no work below the bound, and the bound acts against the varying strain. A stress of mean square
 * b that varies linearly reaches √3 b at the faces, where friction holds too: b <= µ λ_N / √3. Vanishes with the cell: its work is that of
 * h ∇∇u. */
#define DP_BENDING 0.57735026918962576451

/* The slip between the phases, a part of what contacts move, from which on the particles count alone, and below which the integral does in
 * every cell: where drag holds grains and fluid together the two constraints of a cell must be one, also at the edge of the material. */
#define DP_SLIP_FREE 0.05
#define DP_SLIP_HELD 0.005

/* Cells that are too full. Strain that the particles follow and that cells do not see loses volume in lasting flow. Sand that is denser than it can
 * be in slow shear expands as it is sheared [roux1998]: ∇·u >= K (φ/φ_max - 1 - δ) γ̇, at most µ γ̇, with the K of that law and a margin δ for what is
 * chance of the sampling. At rest, in translation and rotation nothing happens. γ̇ is that of the end of the step (rheology_dim.c): where drag is strong
 * opening draws on the fluid, grains press on each other the more and shear the less. */
#define DP_OPENING 4.0
#define DP_CHANCE 0.05

/* Where bodies leave less than this part of a cell or a node, grains are few and how full it is a matter of chance: it counts as if so much were left. */
#define DP_SLIVER 0.1

/* Cells that are too empty. The strain of a cell with a few particles in it is a matter of chance, and grains that drift about alone
 * would one by one come to "touch", then build heaps full of holes. So grains can be packed no more tightly than what is around
 * them, seen one cell further inside: 2 φ_most - φ_least of the corners of their cell, plus δ. Even grains have φ there, and the surface of packed
 * ones, where the corner inside has φ_max (1 - (1-t)²/2) and the one outside φ_max t²/2, never less than φ_max: heaps at rest know nothing of it. */

/* What gives back what the tolerance let go too far may take a stress of at most this part of the typical one: where drag is strong the
 * last thousandth would otherwise be asked for at once, at a stress of many times the weight. */
#define DP_GIVEN_BACK 0.001

/* The surface of a fluid (surface_dim.c). Distances are kept up to so many cells from it; a cell with less fluid than this part of it counts as dry; and
 * so well has the fluid its volume in a step, in which nothing adds up. */
#define DP_BAND 6.0
#define DP_TRACE_OF_FLUID 1e-9
#define DP_PART_OF_VOLUME 1e-9

/* Part of the tolerance that is left where no grains slide: what is let go adds up to creep there, step by step, and rounds are few
 * (if not, the plain tolerance is enough after DP_PATIENCE of them). */
#define DP_AT_REST 0.01

/* Solver. What a round leaves of the outflow of cells: from 0.03 to 0.1 rounds a step are the same within a tenth, for any strength of drag. */
#define DP_PRESSURE_PART 0.07

/* Rounds after which a residual that has not halved makes visits more careful. */
#define DP_PATIENCE 20

#endif
