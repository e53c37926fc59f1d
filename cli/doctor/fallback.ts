import type { Check } from "#cli/doctor/check.ts";
import { fallbackLimits } from "#cli/fallback-limits.ts";
import { ok, skipped, warning } from "#core/finding.ts";

/** What a relay with these sign-ins could not do of a cluster's work where the functions' platform fails. */
export const fallback: Check = {
  name: "fallback",
  needs: ["api-server"],
  async run({ reached }, signal) {
    if (reached.cluster.writes === "relay") return skipped("with writes: relay the relay writes in any case");
    const limits = await fallbackLimits(
      reached.cluster,
      // What is looked at is closed by whoever opened it.
      async (_, role) => ({
        ...(await reached.api(role).catch(() => reached.api("relay"))),
        close: async () => undefined,
      }),
      signal,
    );
    if (limits === undefined) return ok("with what can be read here all of the functions' work can be done");
    return warning(limits, "let the relay's process read what these functions sign in with");
  },
};
