"""Which licences may be in an image, and what metadata does not say clearly enough.

Everything here is a judgement, with its reason. What can be read from metadata is read from it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

ALLOWED: Final = frozenset(
    {
        *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSD-3-Clause-Open-MPI"),
        *("BSD-Attribution-HPND-disclaimer", "CC0-1.0", "HPND", "ISC", "MIT", "MIT-0"),
        *("FTL", "IJG", "Unicode-3.0", "libpng-2.0", "libtiff"),  # all ask for a notice alone
        *("OLDAP-2.8", "OpenSSL", "PSF-2.0", "PostgreSQL", "Unlicense", "Zlib", "blessing"),
        "LicenseRef-public-domain",
        "MPL-2.0",  # copyleft by file: we change none of its files
        "GPL-3.0-or-later WITH GCC-exception-3.1",  # the exception lets any program carry it
    }
)

LESSER: Final = {
    "psycopg": "LGPL-3.0-only",
    "psycopg-binary": "LGPL-3.0-only",
    "libcrypt": "LGPL-2.1-or-later",
    "libkeyutils": "LGPL-2.0-or-later",
    "libquadmath": "LGPL-2.1-or-later",
}
"""A lesser licence is let in one by one: what is said of it on the page is true of these."""

ALIASES: Final = {
    "3-clause bsd license": "BSD-3-Clause",
    "apache 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd license": "",  # which one, it does not say
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "python software foundation license": "PSF-2.0",
}
"""What packages write where they do not write an SPDX identifier yet."""


class Correction(NamedTuple):
    """What one version of a package is under, where its metadata does not say so."""

    version: str
    licence: str
    reason: str


CORRECTIONS: Final = {
    "interpret-core": Correction(
        "0.7.8", "MIT", "metadata names none; its repository is under the MIT licence"
    ),
    "jinja2": Correction(
        "3.1.6", "BSD-3-Clause", "metadata says BSD; the licence file in the wheel: three clauses"
    ),
    "pypdfium2": Correction(
        "5.15.2", "Apache-2.0 OR BSD-3-Clause", "metadata has a list; its project leaves the choice"
    ),
    "pysqlite3": Correction(
        "0.6.1", "Zlib", "metadata names none; the licence file in the wheel is zlib's"
    ),
    "scipy": Correction(
        "1.17.1", "BSD-3-Clause", "metadata holds the text instead of a name: the three clauses"
    ),
    "sqlcipher3": Correction(
        "0.6.4", "Zlib", "metadata names none; the licence file in the wheel is zlib's"
    ),
    "uvloop": Correction(
        "0.23.0",
        "MIT OR Apache-2.0",
        "metadata names both; the wheel holds both texts, either may be chosen",
    ),
}
"""Of one version each: the next one has to be looked at again."""


class Bundled(NamedTuple):
    """Somebody else's library inside a wheel, as a file of its own (`lib...`) or linked in."""

    wheel: str
    name: str
    licence: str
    told_by: str


_WHEEL: Final = "the wheel's licence file"
_PROJECT: Final = "its project; the wheel has no text of it"

BUNDLED: Final = (
    Bundled("aiohttp", "llhttp", "MIT", _WHEEL),
    Bundled("cryptography", "OpenSSL", "Apache-2.0", "the wheel's own bill of materials"),
    Bundled("httptools", "llhttp, http-parser", "MIT", _WHEEL),
    Bundled("interpret-core", "plotly.js and what it holds", "MIT", _WHEEL),
    Bundled("numpy", "libscipy_openblas64_", "BSD-3-Clause", _WHEEL),
    Bundled("numpy", "LAPACK", "BSD-3-Clause-Open-MPI", _WHEEL),
    Bundled("numpy", "libgfortran", "GPL-3.0-or-later WITH GCC-exception-3.1", _WHEEL),
    Bundled("numpy", "libquadmath", "LGPL-2.1-or-later", _WHEEL),
    Bundled("psycopg-binary", "libpq", "PostgreSQL", _PROJECT),
    Bundled("psycopg-binary", "libssl", "Apache-2.0", _PROJECT),
    Bundled("psycopg-binary", "libcrypto", "Apache-2.0 AND OpenSSL", _PROJECT),
    Bundled("psycopg-binary", "libcom_err", "MIT", _PROJECT),
    Bundled("psycopg-binary", "libgssapi_krb5", "BSD-2-Clause AND MIT", _PROJECT),
    Bundled("psycopg-binary", "libk5crypto", "BSD-2-Clause AND MIT", _PROJECT),
    Bundled("psycopg-binary", "libkrb5", "BSD-2-Clause AND MIT", _PROJECT),
    Bundled("psycopg-binary", "libkrb5support", "BSD-2-Clause AND MIT", _PROJECT),
    Bundled("psycopg-binary", "liblber", "OLDAP-2.8", _PROJECT),
    Bundled("psycopg-binary", "libldap", "OLDAP-2.8", _PROJECT),
    Bundled("psycopg-binary", "libsasl2", "BSD-Attribution-HPND-disclaimer", _PROJECT),
    Bundled("psycopg-binary", "libpcre", "BSD-3-Clause", _PROJECT),
    Bundled("psycopg-binary", "libpcre2-8", "BSD-3-Clause", _PROJECT),
    Bundled("psycopg-binary", "libselinux", "LicenseRef-public-domain", _PROJECT),
    Bundled("psycopg-binary", "libcrypt", "LGPL-2.1-or-later", _PROJECT),
    Bundled("psycopg-binary", "libkeyutils", "LGPL-2.0-or-later", _PROJECT),
    Bundled("pyarrow", "Arrow and Parquet in C++", "Apache-2.0", _WHEEL),
    Bundled(
        "pyarrow",
        "what they hold: LLVM, gRPC, Thrift, ORC, zstd, lz4, Brotli, Snappy, re2, zlib and others",
        "Apache-2.0 AND BSD-2-Clause AND BSD-3-Clause AND MIT AND Zlib",
        _WHEEL,
    ),
    Bundled("pypdfium2", "libpdfium", "Apache-2.0 AND BSD-3-Clause", _WHEEL),
    Bundled(
        "pypdfium2",
        "what it holds: FreeType, HarfBuzz, ICU, lcms, libjpeg, OpenJPEG, libpng, libtiff, zlib",
        "BSD-2-Clause AND FTL AND IJG AND MIT AND Unicode-3.0 AND Zlib AND libpng-2.0 AND libtiff",
        _WHEEL,
    ),
    Bundled("pysqlite3", "SQLite", "blessing", _PROJECT),
    Bundled("scikit-learn", "libgomp", "GPL-3.0-or-later WITH GCC-exception-3.1", _WHEEL),
    Bundled("scipy", "libscipy_openblas", "BSD-3-Clause", _WHEEL),
    Bundled("scipy", "LAPACK", "BSD-3-Clause-Open-MPI", _WHEEL),
    Bundled("scipy", "libgfortran", "GPL-3.0-or-later WITH GCC-exception-3.1", _WHEEL),
    Bundled("scipy", "libquadmath", "LGPL-2.1-or-later", _WHEEL),
    Bundled("sqlcipher3", "SQLite", "blessing", _PROJECT),
    Bundled("sqlcipher3", "SQLCipher", "BSD-3-Clause", _PROJECT),
    Bundled("sqlcipher3", "OpenSSL", "Apache-2.0", _PROJECT),
    Bundled("uvloop", "libuv", "MIT", _PROJECT),
)
"""A test finds every shared library (`lib....so`) that lies anywhere in a wheel installed here;
what is linked in was found by reading the wheels for both processors."""

OWN: Final = {"interpret-core": ("libebm",), "pyarrow": ("libarrow", "libparquet")}
"""Libraries that a project has written itself, by how their names begin: under its own licence."""
