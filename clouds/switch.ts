import * as z from "zod";

/** A boolean, also as the text of an environment variable. */
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
