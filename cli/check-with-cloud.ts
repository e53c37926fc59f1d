import { ConfigurationError } from "#cli/configuration-error.ts";
import { log } from "#cli/serve.ts";
import type { Cloud } from "#clouds/cloud.ts";

/** The time limit; a cloud that does not answer proves nothing about the configuration. */
const WITHIN_MS = 5_000;

/** Asks a cloud once whether it knows what the flags name, if it can tell; throws what is certainly wrong. */
export async function checkWithCloud(cloud: Cloud, cluster: string): Promise<void> {
  const found = await cloud.checkConfiguration?.(AbortSignal.timeout(WITHIN_MS));
  if (found === undefined) return;
  if (found.unchecked !== undefined)
    log({ level: "warn", event: "ConfigurationUnchecked", cluster, message: found.unchecked });
  if (found.faults.length === 0) return;
  await cloud.close();
  throw new ConfigurationError(
    found.faults.map(({ key, message }) => ({ name: `--cloud-config ${key}`, message })),
  );
}
