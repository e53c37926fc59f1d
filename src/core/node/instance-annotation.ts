import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import type { TestOperation } from "#core/decision.ts";
import type { Instance } from "#core/instance.ts";
import { type Edit, formatPointer, type MapEntry, setEntries, test } from "#core/json-patch.ts";
import type { Node } from "#core/node/node.ts";

/**
 * Writes the instance from which the node was initialized, over any earlier value, and the cloud's other
 * annotations.
 */
export function setInstanceAnnotation(node: Node, instance: Instance): Edit {
  const value = formatIdentity(instance);
  const instanceEntries =
    getAnnotation(node, INSTANCE_ANNOTATION) === value
      ? []
      : [{ key: INSTANCE_ANNOTATION, value, tests: [] }];
  return annotate(node, [...instanceEntries, ...listMissingAnnotations(node, instance)]);
}

/**
 * Writes the instance on a node that was taken over and has no instance annotation, and the cloud's missing
 * annotations.
 */
export function addInstanceAnnotation(node: Node, instance: Instance): Edit {
  const isAnnotated = getAnnotation(node, INSTANCE_ANNOTATION) !== undefined;
  const instanceEntries = isAnnotated
    ? []
    : [
        {
          key: INSTANCE_ANNOTATION,
          value: formatIdentity(instance),
          tests: [testUnchanged(node, INSTANCE_ANNOTATION)],
        },
      ];
  return annotate(node, [...instanceEntries, ...listMissingAnnotations(node, instance)]);
}

/** The cloud's annotations that are absent or empty; a test keeps concurrent writes of others. */
function listMissingAnnotations(node: Node, { annotations = {} }: Instance): MapEntry[] {
  return Object.entries(annotations).flatMap(([key, value]) =>
    getAnnotation(node, key) || value === "" ? [] : [{ key, value, tests: [testUnchanged(node, key)] }],
  );
}

function formatIdentity({ account, network, id }: Instance): string {
  return `${account}/${network}/${id}`;
}

function getAnnotation(node: Node, key: string): string | undefined {
  const { annotations = {} } = node.metadata;
  return Object.hasOwn(annotations, key) ? annotations[key] : undefined;
}

function testUnchanged(node: Node, key: string): TestOperation {
  return test(formatPointer("metadata", "annotations", key), getAnnotation(node, key) ?? null);
}

function annotate(node: Node, entries: readonly MapEntry[]): Edit {
  return setEntries(
    formatPointer("metadata", "annotations"),
    node.metadata.annotations !== undefined,
    entries,
  );
}
