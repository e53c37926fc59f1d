import * as z from "zod";

/** Yes or no, also as the text that an environment variable is. */
export const Switch = z.union(
  [
    z.boolean(),
    z
      .string()
      .regex(/^(true|false)$/i)
      .transform((text) => text.toLowerCase() === "true"),
  ],
  { error: "true or false" },
);
