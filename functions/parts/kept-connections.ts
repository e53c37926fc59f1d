import type { Cluster } from "#config/cluster.ts";
import { type SignInRole, signIn, signInKeyOf } from "#config/sign-in.ts";
import { createBoundedCache } from "#functions/parts/bounded-cache.ts";
import { type ConnectOptions, connect } from "#kube/client/connect.ts";
import type { JudgeAddress } from "#kube/client/judged-lookup.ts";
import type { Transport } from "#kube/client/transport.ts";

/** The connections that a warm function keeps. */
export interface KeptConnectionsOptions {
  /** As whom it signs in. */
  readonly role: SignInRole;
  /** For so many clusters. */
  readonly most: number;
  /** Answers are those to writes and single reads, and bounded by the cluster's limit of these; lists have bounds of their own. */
  readonly answersAlone: boolean;
  /** Which addresses API servers may have; any without it. */
  readonly judgeAddress?: JudgeAddress | undefined;
}

/** A connection to a cluster's API server for each way of signing in to it; rejects where it cannot be signed in to. */
export function keptConnections(options: KeptConnectionsOptions): (cluster: Cluster) => Promise<Transport> {
  const kept = createBoundedCache<Transport>(options.most, (transport) => transport.close());
  return (cluster) => {
    const bounds = options.answersAlone ? boundsOf(cluster) : {};
    return kept.get(keyOf(cluster, options.role, bounds), async () =>
      connect({
        server: cluster.server,
        judgeAddress: options.judgeAddress,
        ...(await signIn(cluster, options.role)),
        ...bounds,
      }),
    );
  };
}

type Bounds = Pick<ConnectOptions, "maxBodyBytes" | "maxWriteBodyBytes">;

function boundsOf({ limits: { answerBytes } }: Cluster): Bounds {
  return { maxBodyBytes: answerBytes, maxWriteBodyBytes: answerBytes };
}

function keyOf(cluster: Cluster, role: SignInRole, bounds: Bounds): string {
  const { name, server, tlsServerName, certificateAuthorityFile, certificateAuthorityData } = cluster;
  const key = signInKeyOf(cluster, role);
  const how = key === undefined ? undefined : cluster.signIn[key];
  const authority = [certificateAuthorityFile, certificateAuthorityData];
  return JSON.stringify([name, server, tlsServerName, ...authority, bounds, how]);
}
