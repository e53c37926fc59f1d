import * as z from "zod";

const region = z
  .string()
  .regex(/^[a-z]{2,}(-[a-z]+)+-\d{1,2}$/, "an AWS region such as eu-central-1")
  .optional();
const roleArn = z
  .string()
  .regex(/^arn:[^:]+:iam::\d{12}:role\/.+$/, "the ARN of an IAM role")
  .optional();

const HOMES = ["secretsManager", "ssmParameter", "file"] as const;

/** Location of a secret: exactly one of the three. It is a name and may be printed. */
export const SecretReference = z
  .strictObject({
    /** A secret's ARN or name; its current version is read. */
    secretsManager: z.string().min(1).max(2_048).optional(),
    /** A SecureString's name or ARN. */
    ssmParameter: z.string().min(1).max(2_048).optional(),
    file: z.string().min(1).optional(),
    /** For the two AWS stores; by default that of the ARN, or else of the cluster. */
    region,
    /** Assumed first, for the two AWS stores. */
    roleArn,
  })
  .refine((reference) => HOMES.filter((home) => reference[home] !== undefined).length === 1, {
    message: `names its home by one of ${HOMES.join(", ")}`,
  })
  .refine(({ file, region, roleArn }) => file === undefined || (region ?? roleArn) === undefined, {
    message: "is a file, for which region and roleArn mean nothing; leave them out",
    path: ["file"],
  });
export type SecretReference = z.output<typeof SecretReference>;

/** Formats a reference for messages. */
export function formatReference({ secretsManager, ssmParameter, file }: SecretReference): string {
  if (secretsManager !== undefined) return `the secret ${secretsManager} of Secrets Manager`;
  if (ssmParameter !== undefined) return `the SSM parameter ${ssmParameter}`;
  return `the file ${file}`;
}

/** Returns the region of a reference: its own, or that of its ARN; undefined without either. */
export function getReferenceRegion({
  region,
  secretsManager,
  ssmParameter,
}: SecretReference): string | undefined {
  if (region !== undefined) return region;
  const [prefix, , , ofArn] = (secretsManager ?? ssmParameter ?? "").split(":");
  return prefix === "arn" ? ofArn || undefined : undefined;
}
