import type { Cluster } from "#config/cluster.ts";
import { SignInError, type SignInSubject } from "#config/sign-in/error.ts";
import type { SignIn } from "#config/sign-in/kinds.ts";
import { type Material, parsePairMaterial, parseTokenMaterial } from "#config/sign-in/material.ts";
import { readKubeconfigMaterial } from "#config/sign-in/static-kubeconfig.ts";
import type { TlsCredentials } from "#kube/client/connection.ts";
import type { Authorization } from "#kube/client/transport.ts";
import { type FreshValue, keepFresh, type Reading } from "#platforms/keep-fresh.ts";
import { getMaxAge, readSecret } from "#platforms/secrets/read-secret.ts";
import type { SecretReference } from "#platforms/secrets/reference.ts";
import { SecretError } from "#platforms/secrets/secret-error.ts";

type SignInOfKind<Name extends SignIn["kind"]> = Extract<SignIn, { readonly kind: Name }>;

/** The kinds without local files: their credentials are read or issued on demand. */
export type ReadSignIn =
  | SignInOfKind<"token">
  | (SignInOfKind<"client-certificate"> & { readonly from: SecretReference })
  | (SignInOfKind<"kubeconfig"> & { readonly from: SecretReference })
  | SignInOfKind<"eks">
  | SignInOfKind<"web-identity">;

/**
 * Signs in with credentials that are cached until shortly before they expire. The cache is for this cluster
 * and sign-in only.
 */
export function signInByReading(
  signInMethod: ReadSignIn,
  cluster: Cluster,
  about: SignInSubject,
  now: () => number,
): {
  readonly authorization?: Authorization;
  readonly readTls?: (fresh: boolean) => Promise<TlsCredentials>;
} {
  const kept = keepFresh(
    () =>
      read(signInMethod, cluster, now()).catch((error: unknown) => {
        throw toSignInError(error, signInMethod, about);
      }),
    { maxAgeMs: "from" in signInMethod ? getMaxAge(signInMethod.from) : LONGEST_TOKEN_MS, now },
  );
  const authorization: Authorization = async (_signal, options) => (await kept.get(options)).header;
  switch (signInMethod.kind) {
    case "client-certificate":
      return { readTls: createTlsReader(kept, now) };
    case "kubeconfig":
      return { readTls: createTlsReader(kept, now), authorization };
    case "token":
    case "eks":
    case "web-identity":
      return { authorization };
  }
}

/** Longest lifetime of a token that is issued. */
const LONGEST_TOKEN_MS = 3_600_000;

async function read(signInMethod: ReadSignIn, cluster: Cluster, now: number): Promise<Reading<Timed>> {
  const { value, endsAt } = await readMaterial(signInMethod, cluster, now);
  return { value: { ...value, endsAt }, endsAt };
}

interface Timed extends Material {
  readonly endsAt: number | undefined;
}

async function readMaterial(
  signInMethod: ReadSignIn,
  cluster: Cluster,
  now: number,
): Promise<Reading<Material>> {
  const { name: clusterName, cloud, server, tlsServerName } = cluster;
  const region = cloud.provider === "aws" ? cloud.region : undefined;
  const secretOf = (from: SecretReference) => readSecret(from, { clusterName, region });
  switch (signInMethod.kind) {
    case "token":
      return parseTokenMaterial(await secretOf(signInMethod.from), signInMethod.from, now);
    case "client-certificate":
      return parsePairMaterial(await secretOf(signInMethod.from), signInMethod.from, now);
    case "kubeconfig":
      return readKubeconfigMaterial(
        await secretOf(signInMethod.from),
        { ...signInMethod, server, tlsServerName },
        now,
      );
    case "eks": {
      const { createEksToken: eksToken } = await import("#platforms/aws/sign-in/eks-token.ts");
      const caller = { clusterName, region: signInMethod.region ?? region, roleArn: signInMethod.roleArn };
      return buildBearerMaterial(await eksToken({ ...caller, eksCluster: signInMethod.clusterName }));
    }
    case "web-identity": {
      const { readWebIdentityToken: webIdentityToken } = await import(
        "#platforms/aws/sign-in/web-identity-token.ts"
      );
      const { audience, signingAlgorithm, durationSeconds, roleArn } = signInMethod;
      const caller = { clusterName, region: signInMethod.region ?? region, roleArn };
      return buildBearerMaterial(
        await webIdentityToken({ ...caller, audience, signingAlgorithm, durationSeconds }),
      );
    }
  }
}

function buildBearerMaterial({ value, endsAt }: Reading<string>): Reading<Material> {
  return { value: { header: `Bearer ${value}` }, endsAt };
}

/** The share of a certificate's remaining life during which it opens new connections. */
const SHARE_OF_LIFE = 0.8;
const MIN_CONNECTION_MS = 10_000;

function createTlsReader(
  kept: FreshValue<Timed>,
  now: () => number,
): (fresh: boolean) => Promise<TlsCredentials> {
  return async (fresh) => {
    const { tls = {}, endsAt } = await kept.get({ fresh });
    if (endsAt === undefined || tls.clientCertificate === undefined) return tls;
    const at = now();
    return { ...tls, renewAtMs: at + Math.max((endsAt - at) * SHARE_OF_LIFE, MIN_CONNECTION_MS) };
  };
}

function toSignInError(error: unknown, { kind }: ReadSignIn, about: SignInSubject): SignInError {
  if (error instanceof SecretError) return new SignInError(error.code, about, `${kind}: ${error.message}`);
  // The error's message may quote what was read.
  const name = error instanceof Error ? error.name : typeof error;
  return new SignInError("SecretUnavailable", about, `${kind}: failed unexpectedly (${name})`);
}
