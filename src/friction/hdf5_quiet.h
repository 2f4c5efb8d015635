/* HDF5 without its messages on standard error. */
#ifndef RP_FRICTION_HDF5_QUIET_H
#define RP_FRICTION_HDF5_QUIET_H

#include <hdf5.h>

/* What HDF5 would have done with an error, to be given back. */
typedef struct rp__friction_quiet {
    H5E_auto2_t function;
    void *data;
} rp__friction_quiet;

static inline rp__friction_quiet rp__friction_be_quiet(void)
{
    rp__friction_quiet q;
    H5Eget_auto2(H5E_DEFAULT, &q.function, &q.data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return q;
}

static inline void rp__friction_speak_again(rp__friction_quiet q)
{
    H5Eset_auto2(H5E_DEFAULT, q.function, q.data);
}

#endif
