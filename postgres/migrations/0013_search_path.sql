-- Whoever may create functions in a schema that users search, as everybody could in public up to PostgreSQL 14, must not get his own called in place of those
-- that come with the server, with the rights of whoever locks: PostgreSQL prefers the one whose types fit best, wherever it is. So the functions here look
-- nowhere but among the server's own.
DO $$
DECLARE
	one oid;
BEGIN
	FOR one IN SELECT p.oid FROM pg_catalog.pg_proc AS p JOIN pg_catalog.pg_class AS c ON c.relnamespace OPERATOR(pg_catalog.=) p.pronamespace
		WHERE c.oid OPERATOR(pg_catalog.=) 'leasehold.meta'::pg_catalog.regclass
	LOOP
		EXECUTE pg_catalog.format('ALTER FUNCTION %s SET search_path = pg_catalog, pg_temp', one::pg_catalog.regprocedure);
	END LOOP;
END
$$;
