-- The number of the project that the stream of a PromptManager belongs to; null for
-- the token of any other agent, and for streams from before.
ALTER TABLE agent_tokens ADD COLUMN stream_project bigint;
