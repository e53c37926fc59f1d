/** The functions' time-out as serverless.yml deploys them, in milliseconds. */
export const FUNCTION_TIMEOUT_MS = 30_000;
