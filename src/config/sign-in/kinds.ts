import * as z from "zod";
import { isRegionName } from "#clouds/aws/regions.ts";
import { SecretReference } from "#platforms/secrets/reference.ts";

const filePath = z.string().min(1);
const region = z.string().refine(isRegionName, "is not an AWS region such as eu-central-1").optional();
const roleArn = z
  .string()
  .regex(/^arn:[^:]+:iam::\d{12}:role\/.+$/, "the ARN of an IAM role")
  .optional();

/** What a kubeconfig may use beyond inline credentials, by key. */
export const KUBECONFIG_POWERS = [
  "exec",
  "auth-provider",
  "files",
  "insecure-skip-tls-verify",
  "server",
] as const;
export type KubeconfigPower = (typeof KUBECONFIG_POWERS)[number];

/** The powers that a kubeconfig in a secret may be allowed: it never runs a command and names no files. */
const POWERS_OF_SECRETS: readonly KubeconfigPower[] = ["insecure-skip-tls-verify", "server"];

/** How an identity signs in. Entries only name secrets, because a cluster entry may be printed. */
export const SignIn = z.discriminatedUnion("kind", [
  /** A bearer token in a file, reread when it changes (a bound service account token is rotated). */
  z.strictObject({ kind: z.literal("token-file"), file: filePath }),
  /** A bearer token in a secret. */
  z.strictObject({ kind: z.literal("token"), from: SecretReference }),
  /** A client certificate and its key, in PEM files or in a secret. */
  z
    .strictObject({
      kind: z.literal("client-certificate"),
      certificateFile: filePath.optional(),
      keyFile: filePath.optional(),
      from: SecretReference.optional(),
    })
    // Reported together with the entry's other faults.
    .refine(({ certificateFile: file, keyFile, from }) => from || keyFile || !file, {
      message: "is missing; give the file of the certificate's key",
      path: ["keyFile"],
      when: () => true,
    })
    .refine(({ certificateFile, keyFile: file, from }) => from || certificateFile || !file, {
      message: "is missing; give the file of the key's certificate",
      path: ["certificateFile"],
      when: () => true,
    })
    .refine(
      ({ certificateFile, keyFile, from }) => Boolean(from) !== Boolean(certificateFile || keyFile),
      "needs certificateFile and keyFile, or from alone",
    ),
  /**
   * The credentials in a kubeconfig: a file for the relay only, or a secret with static credentials only. It
   * may belong to the tenant, so the entry states what it may do.
   */
  z
    .strictObject({
      kind: z.literal("kubeconfig"),
      file: filePath.optional(),
      from: SecretReference.optional(),
      context: z.string().min(1).optional(),
      allow: z.array(z.enum(KUBECONFIG_POWERS)).optional(),
    })
    .refine(({ file, from }) => (file === undefined) !== (from === undefined), "needs one of file and from")
    .refine(
      ({ from, allow = [] }) =>
        from === undefined || allow.every((power) => POWERS_OF_SECRETS.includes(power)),
      {
        message: `may be no more than ${POWERS_OF_SECRETS.join(" and ")} beside from: nothing of a secret is run, and no file read`,
        path: ["allow"],
      },
    ),
  /** A signed STS request that proves its sender to one EKS cluster; nothing is stored. */
  z.strictObject({
    kind: z.literal("eks"),
    clusterName: z.string().regex(/^[0-9A-Za-z][\w-]{0,99}$/, "the cluster's name in EKS"),
    region,
    roleArn,
  }),
  /** A token of AWS's own issuer for one audience, which only the cluster uses; nothing is stored. */
  z.strictObject({
    kind: z.literal("web-identity"),
    audience: z.string().min(1).max(1_000),
    signingAlgorithm: z.enum(["RS256", "ES384"]).prefault("RS256"),
    durationSeconds: z.int().min(60).max(3_600).prefault(300),
    region,
    roleArn,
  }),
  /**
   * A ServiceAccount token, minted with the administrator's kubeconfig in a Secret of the management cluster.
   * Only for processes that reach that cluster, never for deployed functions.
   */
  z.strictObject({
    kind: z.literal("minted-token"),
    /** The management cluster, as in `--clusters-file`. */
    management: z.string().startsWith("kubernetes:", "the management cluster, as kubernetes:"),
    /** NAMESPACE/NAME, and its key with the kubeconfig. */
    secret: z.string().regex(/^[^/]+\/[^/]+$/, "NAMESPACE/NAME of a Secret"),
    key: z.string().min(1),
  }),
]);
export type SignIn = z.output<typeof SignIn>;
