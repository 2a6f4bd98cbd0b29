// Package postgres is an engine that keeps locks in a PostgreSQL database.
package postgres
