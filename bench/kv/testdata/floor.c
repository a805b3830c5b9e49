/* The least that a generator on epoll can cost: prebuilt requests for random
 * keys, replies counted by their bytes; no parsing, no clock, no statistics.
 * Arguments: port (0: Unix) connections pipeline seconds bytes-a-reply [path] */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

enum { MOST = 1024, POOL = 1 << 17 };

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static int dial(int port, const char *path)
{
	int fd, one = 1, bad;
	if (port) {
		struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
		to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		fd = socket(AF_INET, SOCK_STREAM, 0);
		bad = connect(fd, (struct sockaddr *)&to, sizeof to);
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	} else {
		struct sockaddr_un to = {.sun_family = AF_UNIX};
		strncpy(to.sun_path, path, sizeof to.sun_path - 1);
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		bad = connect(fd, (struct sockaddr *)&to, sizeof to);
	}
	if (bad) {
		perror("connect");
		exit(1);
	}
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

int main(int argc, char **argv)
{
	if (argc < 6)
		return 2;
	int port = atoi(argv[1]), conns = atoi(argv[2]), pipeline = atoi(argv[3]);
	double seconds = atof(argv[4]);
	long reply = atol(argv[5]);
	static int fd[MOST];
	static long got[MOST];
	static int next[MOST];
	static char pool[POOL * 64], in[1 << 18];
	int at = 0, ep = epoll_create1(0);
	for (int k = 0; k < POOL; k++)
		at += sprintf(pool + at, "*2\r\n$3\r\nGET\r\n$13\r\nbakeoff-%05d\r\n", 10000 + (int)(random() % 90000));
	int one = at / POOL;
	for (int i = 0; i < conns && i < MOST; i++) {
		fd[i] = dial(port, argc > 6 ? argv[6] : "");
		next[i] = random() % (POOL / 2);
		struct epoll_event e = {.events = EPOLLIN | EPOLLET, .data.u32 = i};
		epoll_ctl(ep, EPOLL_CTL_ADD, fd[i], &e);
	}
	double start = now(), t = start;
	long ops = 0, waits = 0;
	for (int i = 0; i < conns; i++)
		send(fd[i], pool + one * next[i], one * pipeline, MSG_NOSIGNAL);
	while (t - start < seconds) {
		struct epoll_event e[512];
		int n = epoll_wait(ep, e, 512, 100);
		if ((++waits & 255) == 0)
			t = now();
		for (int i = 0; i < n; i++) {
			int c = e[i].data.u32;
			int r = recv(fd[c], in, sizeof in, 0);
			if (r <= 0)
				continue;
			got[c] += r;
			int done = got[c] / reply;
			got[c] -= done * reply;
			ops += done;
			if (!done)
				continue;
			next[c] = next[c] + 2 * done < POOL ? next[c] + done : 0;
			send(fd[c], pool + one * next[c], one * done, MSG_NOSIGNAL);
		}
	}
	printf("%ld %f\n", ops, now() - start);
	return 0;
}
