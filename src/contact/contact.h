/* The method of grains one by one and fibres: docs/contact.md. */
#ifndef RP_CONTACT_CONTACT_H
#define RP_CONTACT_CONTACT_H

#include "sim/method.h"

extern const rp__method rp__contact_method;

#endif
