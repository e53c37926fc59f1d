/** The functions' timeout as deployed by serverless.yml, in milliseconds. */
export const FUNCTION_TIMEOUT_MS = 30_000;
