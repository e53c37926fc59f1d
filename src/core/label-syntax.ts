/** Returns why Kubernetes rejects a label key, as the end of a sentence; undefined if the key is valid. */
export function checkLabelKey(key: string): string | undefined {
  const slash = key.indexOf("/");
  const prefix = slash === -1 ? undefined : key.slice(0, slash);
  const name = key.slice(slash + 1);
  if (prefix !== undefined && !isSubdomain(prefix)) return "its prefix is not a DNS subdomain";
  if (!isName(name)) return `its name is not 1 to ${MAX_NAME} letters, digits, '-', '_' and '.'`;
  return undefined;
}

/**
 * Returns why Kubernetes rejects a label value, as the end of a sentence; undefined if the value is valid.
 */
export function checkLabelValue(value: string): string | undefined {
  if (value === "" || isName(value)) return undefined;
  return `its value is not at most ${MAX_NAME} letters, digits, '-', '_' and '.'`;
}

// The limits and patterns of Kubernetes' validation of qualified names and label values.
const MAX_NAME = 63;
const MAX_PREFIX = 253;
const NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

function isName(text: string): boolean {
  return text.length <= MAX_NAME && NAME.test(text);
}

function isSubdomain(text: string): boolean {
  return text.length <= MAX_PREFIX && text.split(".").every((label) => DNS_LABEL.test(label));
}
