// Package postgresserver starts PostgreSQL servers for tests: real ones, in processes of their own, that listen on a socket in a temporary folder only, and are not careful with the disk.
//
// [Start] returns when the server answers, and Close ends it. On Linux it also ends with this process. PostgreSQL refuses to run as root: then it runs as the user postgres, or nobody. It takes
// PostgreSQL 13 or newer.
package postgresserver
