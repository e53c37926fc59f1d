import type { Check } from "#cli/doctor/check.ts";
import { findFallbackLimits } from "#cli/fallback-limits.ts";
import { reportOk, reportSkipped, reportWarning } from "#core/check-result.ts";

/**
 * Checks what a relay with these sign-ins could not do of a cluster's work while the function platform fails.
 */
export const fallback: Check = {
  name: "fallback",
  needs: ["api-server"],
  async run({ reached }, signal) {
    if (reached.cluster.writes === "relay")
      return reportSkipped("with writes: relay the relay writes in any case");
    const limits = await findFallbackLimits(
      reached.cluster,
      // The transports of the context are closed by their opener.
      async (_, role) => ({
        ...(await reached.api(role).catch(() => reached.api("relay"))),
        close: async () => undefined,
      }),
      signal,
    );
    if (limits === undefined)
      return reportOk("with what can be read here all of the functions' work can be done");
    return reportWarning(limits, "let the relay's process read what these functions sign in with");
  },
};
