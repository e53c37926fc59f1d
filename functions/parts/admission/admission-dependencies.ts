import * as z from "zod";
import type { Cloud } from "#clouds/cloud.ts";
import type { Authorize } from "#clouds/http/api.ts";
import { loadCloud } from "#clouds/providers.ts";
import type { AdmissionDependencies } from "#functions/parts/admission/admission-function.ts";
import { createReadPath } from "#functions/parts/admission/signed-path.ts";
import { readPublicKeys } from "#functions/parts/cluster-signature.ts";
import { createBoundedCache } from "#functions/parts/connection-cache.ts";
import { openDeployedClusters } from "#functions/parts/deployed-clusters.ts";
import { type Log, logToStandardOutput } from "#functions/parts/log-report.ts";
import { SecretReference } from "#platforms/secrets/reference.ts";

/** Cached clouds and tokens of a warm function, one for each configuration. */
const CACHE = { most: 32 };

/** A cloud configuration that lets API servers ask about Services. */
const Asked = z.object({ webhookToken: SecretReference });

/**
 * Creates the dependencies of the deployed function: clusters from CLUSTERS_FILE, their tokens and clouds,
 * but no API server. Without a valid ADMISSION_PUBLIC_KEYS it rejects every request and logs why.
 */
export function createAdmissionDependencies(
  environment: Readonly<Record<string, string | undefined>>,
  log: Log = logToStandardOutput,
): AdmissionDependencies {
  const keys = readPublicKeys(environment, "ADMISSION_PUBLIC_KEYS", log);
  const { clusters } = openDeployedClusters(environment);
  const clouds = createBoundedCache<Cloud>(CACHE, (cloud) => cloud.close());
  const tokens = createBoundedCache<Authorize>(CACHE, async () => undefined);
  return {
    readPath: createReadPath(keys),
    cluster: (name) => clusters(name),
    async authorization({ name, cloud }) {
      const reference = Asked.safeParse(cloud).data?.webhookToken;
      if (reference === undefined) return undefined;
      const key = JSON.stringify([name, reference]);
      const authorize = await tokens.get(key, async () => {
        const { createReferencedToken: tokenByReference } = await import("#clouds/http/authorizer.ts");
        return tokenByReference(reference, { clusterName: name });
      });
      return authorize();
    },
    cloud: ({ name, cloud }) =>
      clouds.get(JSON.stringify([name, cloud]), () => loadCloud(cloud, { clusterName: name })),
    log,
  };
}
