import * as z from "zod";

const Seed = z.coerce
  .number()
  .int()
  .min(-(2 ** 31))
  .max(2 ** 31 - 1);

/**
 * What tests draw from: the same in every run, so that what fails here fails there. `TEST_SEED=4711 npm test` draws something
 * else; what fails then says the seed.
 */
export const SEED = Seed.parse(process.env["TEST_SEED"] ?? 1, {
  error: () => "TEST_SEED is a whole number of 32 bits",
});
