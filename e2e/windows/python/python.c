// `python.exe` under wine: runs a Python for Linux, because no package has one for Windows.
//
// To the program under test this is a process of Windows: it is started in a job, it waits for the event of ipykernel, and it is
// ended with its job. `python.py` beside it starts the Python for Linux. Both speak through sockets, since pipes of wine do not
// reach programs for Linux: two carry what Python prints. On the third, a byte from here asks for an interrupt, the end of this
// process is the end of the stream, and the line from there is the exit code.
#include <winsock2.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>
#include <windows.h>

#define LONGEST 32768
#define POLL_MS 20
#define NOT_STARTED 127

static wchar_t script[LONGEST], line[LONGEST];

// The drive `Z:` of wine is the file system of Linux.
static const wchar_t *unix_path(wchar_t *path) {
    for (wchar_t *at = path; *at; at++)
        if (*at == L'\\') *at = L'/';
    return path[1] == L':' ? path + 2 : path;
}

// What follows the name of the program in its command line, as it is.
static const wchar_t *arguments(void) {
    const wchar_t *at = GetCommandLineW();
    for (BOOL quoted = FALSE; *at && (quoted || *at != L' '); at++)
        if (*at == L'"') quoted = !quoted;
    return at;
}

static int fail(const char *what) {
    fprintf(stderr, "python.exe: %s: error %lu, %d\n", what, GetLastError(), WSAGetLastError());
    return NOT_STARTED;
}

struct copy {
    SOCKET from;
    HANDLE to;
};

static DWORD WINAPI copy(void *given) {
    struct copy *copy = given;
    char block[65536];
    for (int length; (length = recv(copy->from, block, sizeof block, 0)) > 0;) {
        DWORD written;
        for (int at = 0; at < length; at += written)
            if (!WriteFile(copy->to, block + at, length - at, &written, NULL)) return 1;
    }
    return 0;
}

// Whether the exit code has arrived at a socket that never blocks. Python has printed everything by then. Not `select`: wine keeps
// the socket of a process open that is ended after it.
static BOOL has_ended(SOCKET control, int *code) {
    char text[16] = {0};
    int length = recv(control, text, sizeof text - 1, 0);
    if (length == SOCKET_ERROR && WSAGetLastError() == WSAEWOULDBLOCK) return FALSE;
    *code = length > 0 ? atoi(text) : NOT_STARTED;
    return TRUE;
}

int main(void) {
    WSADATA data;
    if (WSAStartup(MAKEWORD(2, 2), &data)) return fail("no sockets");
    SOCKET listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int length = sizeof address;
    if (bind(listener, (void *)&address, length) || listen(listener, 3)) return fail("no port");
    getsockname(listener, (void *)&address, &length);

    GetModuleFileNameW(NULL, script, LONGEST);
    wcscpy(wcsrchr(script, L'\\'), L"\\python.py");
    swprintf(line, LONGEST, L"\"" PYTHON "\" \"%ls\" %d%ls", unix_path(script), ntohs(address.sin_port), arguments());
    STARTUPINFOW startup = {.cb = sizeof startup};
    PROCESS_INFORMATION process;
    if (!CreateProcessW(L"Z:" PYTHON, line, NULL, NULL, FALSE, 0, NULL, NULL, &startup, &process))
        return fail("the Python for Linux does not start");

    SOCKET control = accept(listener, NULL, NULL);
    struct copy copies[2];
    HANDLE threads[2];
    for (int number = 0; number < 2; number++) {
        copies[number].from = accept(listener, NULL, NULL);
        copies[number].to = GetStdHandle(number ? STD_ERROR_HANDLE : STD_OUTPUT_HANDLE);
        threads[number] = CreateThread(NULL, 0, copy, &copies[number], 0, NULL);
    }

    const char *number = getenv("JPY_INTERRUPT_EVENT");
    HANDLE event = number ? (HANDLE)(ULONG_PTR)strtoull(number, NULL, 10) : NULL;
    u_long never_blocks = 1;
    ioctlsocket(control, FIONBIO, &never_blocks);
    int code;
    while (!has_ended(control, &code)) {
        if (!event)
            Sleep(POLL_MS);
        else if (WaitForSingleObject(event, POLL_MS) == WAIT_OBJECT_0)
            send(control, "i", 1, 0);
    }
    // A process that Python has left behind may keep them open.
    WaitForMultipleObjects(2, threads, TRUE, 1000);
    ExitProcess(code);
}
