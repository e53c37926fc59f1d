import * as z from "zod";

const Seed = z.coerce
  .number()
  .int()
  .min(-(2 ** 31))
  .max(2 ** 31 - 1);

/**
 * The seed of random tests: equal in every run, so that failures are reproducible. `TEST_SEED=4711 npm test`
 * uses another seed, and failures print it.
 */
export const SEED = Seed.parse(process.env["TEST_SEED"] ?? 1, {
  error: () => "TEST_SEED is a whole number of 32 bits",
});
