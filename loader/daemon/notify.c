// SPDX-License-Identifier: GPL-2.0
#include "daemon/notify.h"

#include <inttypes.h>
#include <stdint.h>
#include <systemd/sd-daemon.h>
#include <time.h>

void bt_notify_ready(const char *status)
{
	sd_notifyf(0, "READY=1\nSTATUS=%s", status);
}

void bt_notify_reloading(void)
{
	struct timespec now;

	/* The time is for Type=notify-reload (systemd 253). */
	clock_gettime(CLOCK_MONOTONIC, &now);
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
		   (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
}

void bt_notify_stopping(void)
{
	sd_notify(0, "STOPPING=1");
}

void bt_notify_status(const char *status)
{
	sd_notifyf(0, "STATUS=%s", status);
}

long bt_notify_interval(void)
{
	uint64_t usec = 0;

	return sd_watchdog_enabled(0, &usec) > 0 ? (long)(usec / 2000) : 0;
}

void bt_notify_alive(void)
{
	sd_notify(0, "WATCHDOG=1");
}
