"""Advice on errors of the operating system."""

import errno


#: What to do, by the number of the error.
_ADVICE = {
    errno.ENOENT: "check the name and the folder",
    errno.ENOTDIR: "check the name: a part of it is a file, not a folder",
    errno.EISDIR: "name a file in the folder",
    errno.EEXIST: "choose another name",
    errno.EACCES: "check the permissions",
    errno.EPERM: "check the permissions",
    errno.EROFS: "write to another folder",
    errno.ENOSPC: "free space on the disk, or write to another one",
    errno.EDQUOT: "free space within the quota, or write to another disk",
    errno.EFBIG: "the file system or a limit of the shell allows no file of this size",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.EINVAL: "choose a name without special characters",
    errno.ELOOP: "name the file that the links mean",
    errno.EMFILE: "close other files, or raise the limit of open files (ulimit -n)",
    errno.ENFILE: "close other programs: the system has too many open files",
    errno.ETXTBSY: "end the program that uses the file",
    errno.EBUSY: "end the program that uses the file",
    errno.EIO: "the disk or its connection fails: try another one",
    errno.ESTALE: "the network folder changed: open it again",
    errno.ENOMEM: "close other programs, or raise the limit of memory (ulimit -v)",
    errno.EADDRINUSE: "choose another port",
}


def advice_on(number: int | None) -> str:
    """Return what to do about an error with this `errno`."""
    return _ADVICE.get(number or 0, "check the name and the permissions")
