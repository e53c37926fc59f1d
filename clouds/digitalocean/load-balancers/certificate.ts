import { formatAnnotationName } from "#clouds/digitalocean/load-balancers/annotations/names.ts";
import type { AnnotationSuffix } from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import type { Certificate, LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import { isAllowed } from "#clouds/digitalocean/load-balancers/configuration.ts";
import type { ServiceReading } from "#clouds/digitalocean/load-balancers/desired-state.ts";
import { type Built, reject } from "#clouds/digitalocean/load-balancers/forwarding.ts";

/** The certificate for a load balancer. */
export interface UsedCertificate {
  readonly id: string | undefined;
  /** Whether it is a renewed one, whose id the annotation must get. */
  readonly isRenewed: boolean;
}

/**
 * Selects the certificate that a Service's annotations name. A renewed Let's Encrypt certificate has a new
 * id, which the API has set on the load balancer itself; the annotation is then out of date. A certificate of
 * the account is used only if the operator allows it.
 */
export function selectCertificate(
  { service, annotations }: ServiceReading,
  certificates: readonly Certificate[],
  there: LoadBalancer | undefined,
  allowed: readonly string[],
): Built<UsedCertificate> {
  const unusable = (suffix: AnnotationSuffix, detail: string): Built<never> => {
    const field = formatAnnotationName(suffix);
    const value = service.metadata.annotations?.[field];
    return reject({ code: "CertificateNotUsable", field, value, detail });
  };
  const use = (
    suffix: AnnotationSuffix,
    { id, name }: Certificate,
    isRenewed = false,
  ): Built<UsedCertificate> =>
    isAllowed(allowed, id, name)
      ? { kind: "built", value: { id, isRenewed } }
      : unusable(suffix, `${id} (${name}) is not among cloud.allow.certificates`);
  const shownId = getCertificateId(there);
  const id = annotations["certificate-id"];
  if (id !== undefined) {
    const named = certificates.find((each) => each.id === id);
    const shown = shownId === id ? undefined : certificates.find((each) => each.id === shownId);
    const isRenewed = shown?.type === "lets_encrypt" && (named === undefined || named.name === shown.name);
    if (shown !== undefined && isRenewed) return use("certificate-id", shown, true);
    return named === undefined
      ? unusable("certificate-id", "no certificate of the account has it")
      : use("certificate-id", named);
  }
  const name = annotations["certificate-name"];
  if (name === undefined) return { kind: "built", value: { id: undefined, isRenewed: false } };
  const named = certificates.filter((each) => each.name === name);
  const [first, second] = named;
  if (first === undefined) return unusable("certificate-name", "no certificate of the account has it");
  const chosen = second === undefined ? first : named.find((each) => each.id === shownId);
  return chosen === undefined
    ? unusable("certificate-name", `there is more than one: ${named.map((each) => each.id).join(", ")}`)
    : use("certificate-name", chosen);
}

/** Returns the first certificate that a load balancer uses. */
export function getCertificateId(balancer: LoadBalancer | undefined): string | undefined {
  return balancer?.forwarding_rules.find((rule) => rule.certificate_id !== "")?.certificate_id;
}
