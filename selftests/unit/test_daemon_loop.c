// SPDX-License-Identifier: GPL-2.0
/* The daemon's main loop: timers, signals, descriptors, and sources that go while it runs. */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "daemon/loop.h"

static struct bt_loop *l;
static int fds[2], timer, calls, signals, interrupts;

static void setup(void)
{
	cr_assert_eq(bt_loop_new(&l), 0);
	cr_assert_eq(pipe(fds), 0);
	calls = signals = interrupts = 0;
}

static void teardown(void)
{
	bt_loop_free(&l);
	cr_assert_null(l);
	close(fds[0]);
	close(fds[1]);
}

static void stop(void *arg)
{
	(void)arg;
	calls++;
	bt_loop_stop(l);
}

static void again(void *arg)
{
	if (++calls < 3)
		bt_loop_set(l, timer, 0);
	else
		stop(arg);
}

Test(daemon_loop, a_timer_goes_off_once, .init = setup, .fini = teardown)
{
	timer = bt_loop_timer(l, true, again, NULL);
	cr_assert_geq(timer, 0);
	bt_loop_set(l, timer, 1);
	cr_assert_eq(bt_loop_run(l), 0);
	cr_assert_eq(calls, 4); /* three times again, and stop counts too */
}

static void must_not(void *arg)
{
	(void)arg;
	cr_assert_fail("a timer that was taken back went off");
}

Test(daemon_loop, a_timer_can_be_taken_back, .init = setup, .fini = teardown)
{
	int never = bt_loop_timer(l, false, must_not, NULL);

	timer = bt_loop_timer(l, false, stop, NULL);
	bt_loop_set(l, never, 1);
	bt_loop_set(l, never, -1);
	bt_loop_set(l, timer, 30);
	cr_assert_eq(bt_loop_run(l), 0);
	cr_assert_eq(calls, 1);
}

static void on_alarm(int sig)
{
	(void)sig;
	interrupts++;
}

/* Signals that nobody reads interrupt the wait, as a suspend does. */
Test(daemon_loop, goes_on_after_interrupts, .init = setup, .fini = teardown)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	struct itimerval every = { .it_interval = { 0, 2000 }, .it_value = { 0, 2000 } };
	struct itimerval off = {};

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	timer = bt_loop_timer(l, false, stop, NULL);
	bt_loop_set(l, timer, 100);
	cr_assert_eq(bt_loop_run(l), 0);
	setitimer(ITIMER_REAL, &off, NULL);
	cr_assert_gt(interrupts, 0);
	cr_assert_eq(calls, 1);
}

static void on_signal(void *arg, int sig)
{
	(void)arg;
	cr_assert_eq(sig, SIGHUP);
	signals++;
	bt_loop_stop(l);
}

Test(daemon_loop, signals_come_as_calls, .init = setup, .fini = teardown)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	cr_assert_eq(bt_loop_signals(l, &set, on_signal, NULL), 0);
	raise(SIGHUP);
	cr_assert_eq(bt_loop_run(l), 0);
	cr_assert_eq(signals, 1);
}

static void take_away(void *arg)
{
	calls++;
	bt_loop_del(l, fds[0]);
	bt_loop_set(l, *(int *)arg, 20);
}

Test(daemon_loop, a_source_can_go_while_it_is_called, .init = setup, .fini = teardown)
{
	timer = bt_loop_timer(l, false, stop, NULL);
	cr_assert_eq(bt_loop_add(l, fds[0], take_away, &timer), 0);
	cr_assert_eq(write(fds[1], "x", 1), 1);
	cr_assert_eq(bt_loop_run(l), 0);
	cr_assert_eq(calls, 2, "it stays readable, and is not called again");
}

Test(daemon_loop, a_descriptor_that_is_none, .init = setup, .fini = teardown)
{
	cr_assert_lt(bt_loop_add(l, -1, stop, NULL), 0);
	bt_loop_del(l, -1);
}
