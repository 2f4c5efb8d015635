/* Numbers of the lattice that rooms without RP_DIM need. */
#ifndef RP_GRID_LATTICE_H
#define RP_GRID_LATTICE_H

#define RP_LATTICE_BLOCK 4            /* cells a side of a block */
#define RP_LATTICE_MAX_CELLS 8000000  /* along an axis: block coordinates fit 21 bits of a Morton code */

#endif
