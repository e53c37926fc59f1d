import { type KeptFresh, keepFresh, type Reading } from "#clouds/keep-fresh.ts";
import { maxAgeOf, readSecret } from "#clouds/secrets/read-secret.ts";
import type { SecretReference } from "#clouds/secrets/reference.ts";
import { SecretError } from "#clouds/secrets/secret-error.ts";
import type { Cluster } from "#config/cluster.ts";
import { SignInError, type SignInSubject } from "#config/sign-in/error.ts";
import type { SignIn } from "#config/sign-in/kinds.ts";
import { type Material, pairMaterial, tokenMaterial } from "#config/sign-in/material.ts";
import { kubeconfigMaterial } from "#config/sign-in/static-kubeconfig.ts";
import type { TlsCredentials } from "#kube/client/connection.ts";
import type { Authorization } from "#kube/client/transport.ts";

type Kind<Name extends SignIn["kind"]> = Extract<SignIn, { readonly kind: Name }>;

/** The kinds of which nothing lies here: what they sign in with is read, or issued, when it is needed. */
export type ReadSignIn =
  | Kind<"token">
  | (Kind<"client-certificate"> & { readonly from: SecretReference })
  | (Kind<"kubeconfig"> & { readonly from: SecretReference })
  | Kind<"eks">
  | Kind<"web-identity">;

/** Signs in by what is kept until shortly before its end, for this cluster and this way of signing in alone. */
export function signInByReading(
  how: ReadSignIn,
  cluster: Cluster,
  about: SignInSubject,
  now: () => number,
): {
  readonly authorization?: Authorization;
  readonly readTls?: (fresh: boolean) => Promise<TlsCredentials>;
} {
  const kept = keepFresh(
    () =>
      read(how, cluster, now()).catch((error: unknown) => {
        throw signInErrorOf(error, how, about);
      }),
    { maxAgeMs: "from" in how ? maxAgeOf(how.from) : LONGEST_TOKEN_MS, now },
  );
  const authorization: Authorization = async (_signal, options) => (await kept.get(options)).header;
  switch (how.kind) {
    case "client-certificate":
      return { readTls: tlsOf(kept, now) };
    case "kubeconfig":
      return { readTls: tlsOf(kept, now), authorization };
    case "token":
    case "eks":
    case "web-identity":
      return { authorization };
  }
}

/** No token is issued for longer. */
const LONGEST_TOKEN_MS = 3_600_000;

async function read(how: ReadSignIn, cluster: Cluster, now: number): Promise<Reading<Timed>> {
  const { value, endsAt } = await materialOf(how, cluster, now);
  return { value: { ...value, endsAt }, endsAt };
}

interface Timed extends Material {
  readonly endsAt: number | undefined;
}

async function materialOf(how: ReadSignIn, cluster: Cluster, now: number): Promise<Reading<Material>> {
  const { name: clusterName, cloud, server, tlsServerName } = cluster;
  const region = cloud.provider === "aws" ? cloud.region : undefined;
  const secretOf = (from: SecretReference) => readSecret(from, { clusterName, region });
  switch (how.kind) {
    case "token":
      return tokenMaterial(await secretOf(how.from), how.from, now);
    case "client-certificate":
      return pairMaterial(await secretOf(how.from), how.from, now);
    case "kubeconfig":
      return kubeconfigMaterial(await secretOf(how.from), { ...how, server, tlsServerName }, now);
    case "eks": {
      const { eksToken } = await import("#clouds/aws/sign-in/eks-token.ts");
      const caller = { clusterName, region: how.region ?? region, roleArn: how.roleArn };
      return bearerOf(await eksToken({ ...caller, eksCluster: how.clusterName }));
    }
    case "web-identity": {
      const { webIdentityToken } = await import("#clouds/aws/sign-in/web-identity-token.ts");
      const { audience, signingAlgorithm, durationSeconds, roleArn } = how;
      const caller = { clusterName, region: how.region ?? region, roleArn };
      return bearerOf(await webIdentityToken({ ...caller, audience, signingAlgorithm, durationSeconds }));
    }
  }
}

function bearerOf({ value, endsAt }: Reading<string>): Reading<Material> {
  return { value: { header: `Bearer ${value}` }, endsAt };
}

/** Of what is left of a certificate's life, the part in which new connections are opened with it. */
const SHARE_OF_LIFE = 0.8;
const MIN_CONNECTION_MS = 10_000;

function tlsOf(kept: KeptFresh<Timed>, now: () => number): (fresh: boolean) => Promise<TlsCredentials> {
  return async (fresh) => {
    const { tls = {}, endsAt } = await kept.get({ fresh });
    if (endsAt === undefined || tls.clientCertificate === undefined) return tls;
    const at = now();
    return { ...tls, renewAtMs: at + Math.max((endsAt - at) * SHARE_OF_LIFE, MIN_CONNECTION_MS) };
  };
}

function signInErrorOf(error: unknown, { kind }: ReadSignIn, about: SignInSubject): SignInError {
  if (error instanceof SecretError) return new SignInError(error.code, about, `${kind}: ${error.message}`);
  // Whatever this is, its own words may hold what was read.
  const name = error instanceof Error ? error.name : typeof error;
  return new SignInError("SecretUnavailable", about, `${kind}: failed unexpectedly (${name})`);
}
