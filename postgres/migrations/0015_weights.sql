-- A holder of less than no permits, as no engine writes one, would make room for others.
DELETE FROM leasehold.holders WHERE weight < 0;
ALTER TABLE leasehold.holders ADD CONSTRAINT holders_weight CHECK (weight >= 0);
DELETE FROM leasehold.waiters WHERE weight < 0;
ALTER TABLE leasehold.waiters ADD CONSTRAINT waiters_weight CHECK (weight >= 0);
