/* Rules of pbd beyond Coulomb's law and Newton's, each with its reason. docs/pbd.md tells users of them.
 *
 * Overlaps are taken away by displacements of their own, which become neither speed nor remembered force. Let a mode of a bed converge
 * by the part k in the sweeps of a step. A push by beta times the overlap d within the remembered forces gives, for the relative
 * displacement e, the force y and d,
 *
 *     s³ + 2 k s² + k (1 + beta) s + k beta = 0      (growth s a step, k small),
 *
 * which is unstable when k < beta / (2 (1 + beta)): a column of 20 grains with 5 sweeps has k = 0.03 for its longest mode, and a bed
 * of 35 layers shakes for ever with the usual beta = 0.2 (k must be above 0.083). Without the push the roots are damped,
 * |root|² = 1 - k, for any depth. test_bed.c shows both. */
#ifndef RP_PBD_CLOSURE_H
#define RP_PBD_CLOSURE_H

/* Over-relaxation of the sweeps; any value of 0 … 2 converges to the same forces. k of the longest modes is s / (2 - s) = 1.9 times that of 1. */
#define RP_PBD_RELAX 1.3

/* A contact is looked at when it may close in the step: a gap below SLACK radii and AHEAD times the way, for each grain that moves. A
 * grain that is thrown by others within the step, from rest and across a larger gap, meets what is there in the next one; it went no
 * farther than its radius. */
#define RP_PBD_SLACK 0.03
#define RP_PBD_AHEAD 1.5

/* Overlap that is left alone, as a part of the diameter: a contact that just opened and closed would lose its force. */
#define RP_PBD_SLOP 0.005

/* Work of contacts that makes the sweeps of a step go on, as a part of the energy of the displacements without contacts (sweep.c). The exact bound is
 * zero; a bed at rest has rounding on either side of it, and beds that settle a little of either sign. */
#define RP_PBD_MADE 0.05

#endif
