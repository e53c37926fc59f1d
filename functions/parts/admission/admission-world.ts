import * as z from "zod";
import type { Cloud } from "#clouds/cloud.ts";
import type { Authorize } from "#clouds/http/api.ts";
import { loadCloud } from "#clouds/kinds.ts";
import { SecretReference } from "#clouds/secrets/reference.ts";
import type { AdmissionWorld } from "#functions/parts/admission/admission-function.ts";
import { createReadPath, parsePathKeys } from "#functions/parts/admission/signed-path.ts";
import { createBoundedCache } from "#functions/parts/bounded-cache.ts";
import { clustersOfHome } from "#functions/parts/clusters-of-home.ts";
import { type Log, logToStandardOutput } from "#functions/parts/log-report.ts";

/** Configurations for which a warm function keeps a cloud, and a token. */
const MAX_KEPT = 32;

/** A cloud's configuration, where API servers may ask about Services. */
const Asked = z.object({ webhookToken: SecretReference });

/**
 * All that the deployed function touches: clusters from where CLUSTERS_FILE names, their tokens and their clouds; no API server. Without
 * a valid ADMISSION_PUBLIC_KEYS nobody is let in, and the log says why.
 */
export function admissionWorld(
  environment: Readonly<Record<string, string | undefined>>,
  log: Log = logToStandardOutput,
): AdmissionWorld {
  const keys = parsePathKeys(environment["ADMISSION_PUBLIC_KEYS"]);
  if (keys.kind === "fault")
    log({ level: "error", event: "Misconfigured", message: `ADMISSION_PUBLIC_KEYS ${keys.message}` });
  const { clusters } = clustersOfHome(environment);
  const clouds = createBoundedCache<Cloud>(MAX_KEPT, (cloud) => cloud.close());
  const tokens = createBoundedCache<Authorize>(MAX_KEPT, async () => undefined);
  return {
    readPath: createReadPath(keys.kind === "keys" ? keys.keys : []),
    cluster: (name) => clusters(name),
    async authorization({ name, cloud }) {
      const reference = Asked.safeParse(cloud).data?.webhookToken;
      if (reference === undefined) return undefined;
      const key = JSON.stringify([name, reference]);
      const authorize = await tokens.get(key, async () => {
        const { tokenByReference } = await import("#clouds/secrets/token-by-reference.ts");
        return tokenByReference(reference, { clusterName: name });
      });
      return authorize();
    },
    cloud: ({ name, cloud }) =>
      clouds.get(JSON.stringify([name, cloud]), () => loadCloud(cloud, { clusterName: name })),
    log,
  };
}
