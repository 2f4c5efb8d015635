/* Repose: a simulator of granular matter. This header includes the whole public interface. */
#ifndef REPOSE_REPOSE_H
#define REPOSE_REPOSE_H

#include <repose/action.h>
#include <repose/export.h>
#include <repose/field.h>
#include <repose/friction.h>
#include <repose/grains.h>
#include <repose/log.h>
#include <repose/machine.h>
#include <repose/memory.h>
#include <repose/method.h>
#include <repose/output.h>
#include <repose/param.h>
#include <repose/query.h>
#include <repose/render.h>
#include <repose/result.h>
#include <repose/scene.h>
#include <repose/shape.h>
#include <repose/sim.h>
#include <repose/state.h>
#include <repose/version.h>

#endif
