import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import type { TestOperation } from "#core/decision.ts";
import type { Instance } from "#core/instance.ts";
import { type Edit, type MapEntry, pointer, setEntries, test } from "#core/json-patch.ts";
import type { Node } from "#core/node/node.ts";

/** Says on the node which instance it was initialized from, over whatever it said before, and what else its cloud has to say. */
export function setInstanceAnnotation(node: Node, instance: Instance): Edit {
  const value = identityOf(instance);
  const own =
    annotationOf(node, INSTANCE_ANNOTATION) === value ? [] : [{ key: INSTANCE_ANNOTATION, value, tests: [] }];
  return annotate(node, [...own, ...lackingOf(node, instance)]);
}

/** Says so on a node that was taken over and does not say yet, and of the cloud's other annotations those that it lacks. */
export function addInstanceAnnotation(node: Node, instance: Instance): Edit {
  const isSaid = annotationOf(node, INSTANCE_ANNOTATION) !== undefined;
  const own = isSaid
    ? []
    : [{ key: INSTANCE_ANNOTATION, value: identityOf(instance), tests: [asRead(node, INSTANCE_ANNOTATION)] }];
  return annotate(node, [...own, ...lackingOf(node, instance)]);
}

/** The cloud's annotations that are absent or empty, which is tested: whatever somebody else wrote meanwhile stays. */
function lackingOf(node: Node, { annotations = {} }: Instance): MapEntry[] {
  return Object.entries(annotations).flatMap(([key, value]) =>
    annotationOf(node, key) || value === "" ? [] : [{ key, value, tests: [asRead(node, key)] }],
  );
}

function identityOf({ account, network, id }: Instance): string {
  return `${account}/${network}/${id}`;
}

function annotationOf(node: Node, key: string): string | undefined {
  const { annotations = {} } = node.metadata;
  return Object.hasOwn(annotations, key) ? annotations[key] : undefined;
}

function asRead(node: Node, key: string): TestOperation {
  return test(pointer("metadata", "annotations", key), annotationOf(node, key) ?? null);
}

function annotate(node: Node, entries: readonly MapEntry[]): Edit {
  return setEntries(pointer("metadata", "annotations"), node.metadata.annotations !== undefined, entries);
}
