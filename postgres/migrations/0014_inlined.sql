-- A function of one expression is put in place where it is called, which costs a fraction of a call, unless it sets its path itself. Only the functions here
-- call these, and have set it before.
DO $$
DECLARE
	one oid;
BEGIN
	FOR one IN SELECT p.oid FROM pg_catalog.pg_proc AS p JOIN pg_catalog.pg_language AS l ON l.oid OPERATOR(pg_catalog.=) p.prolang
			JOIN pg_catalog.pg_class AS c ON c.relnamespace OPERATOR(pg_catalog.=) p.pronamespace
		WHERE c.oid OPERATOR(pg_catalog.=) 'leasehold.meta'::pg_catalog.regclass AND l.lanname OPERATOR(pg_catalog.=) 'sql'
	LOOP
		EXECUTE pg_catalog.format('ALTER FUNCTION %s RESET search_path', one::pg_catalog.regprocedure);
	END LOOP;
END
$$;
