/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scope-bound ownership. A function that hands a resource to its caller says so with
 * TAKE_FD()/TAKE_PTR(); what is not taken is released when the scope ends.
 */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define __cleanup(fn) __attribute__((__cleanup__(fn)))

static inline void cleanup_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_file(FILE **f)
{
	if (*f)
		fclose(*f);
}

#define __close	 __cleanup(cleanup_fd)
#define __free	 __cleanup(cleanup_free)
#define __fclose __cleanup(cleanup_file)

#define TAKE_FD(fd)              \
	({                       \
		int __fd = (fd); \
		(fd) = -1;       \
		__fd;            \
	})
#define TAKE_PTR(p)                  \
	({                           \
		typeof(p) __p = (p); \
		(p) = NULL;          \
		__p;                 \
	})

#endif
