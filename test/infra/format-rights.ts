import type { Right } from "#core/descriptor.ts";

/**
 * Formats rights as the rows of infra/rbac/README.md, for example: `nodes`: get, patch; `configmaps` of
 * `kube-system/serverless-ccm`: get, update.
 */
export function formatRights(rights: readonly Right[]): string {
  const targets = Map.groupBy(rights, ({ resource, subresource, namespace, name }) => {
    const what = `\`${subresource === undefined ? resource : `${resource}/${subresource}`}\``;
    const object = [namespace, name].filter((part) => part !== undefined).join("/");
    return object === "" ? what : `${what} ${name === undefined ? "in" : "of"} \`${object}\``;
  });
  return [...targets].map(([target, of]) => `${target}: ${of.map(({ verb }) => verb).join(", ")}`).join("; ");
}
