import type { ObjectMetadata } from "#emulators/api-server/object.ts";
import type { StatusCause } from "#emulators/api-server/status.ts";

/** Returns the errors of an object's metadata, in kube-apiserver's words. */
export function checkMetadata(metadata: ObjectMetadata): readonly StatusCause[] {
  return [
    ...nameCauses(metadata.name),
    ...Object.entries(metadata.labels ?? {}).flatMap(checkLabel),
    ...Object.keys(metadata.annotations ?? {}).flatMap(checkAnnotationKey),
  ];
}

/** Returns the errors of an update to metadata, without fields that the server silently keeps. */
export function checkMetadataUpdate(
  metadata: ObjectMetadata,
  previous: ObjectMetadata,
): readonly StatusCause[] {
  const causes: StatusCause[] = [];
  if (metadata.uid !== previous.uid) {
    causes.push(buildInvalidValueCause("metadata.uid", metadata.uid, "field is immutable"));
  }
  const added = (metadata.finalizers ?? []).filter((finalizer) => !previous.finalizers?.includes(finalizer));
  if (previous.deletionTimestamp !== undefined && added.length > 0) {
    const found = added.map((finalizer) => `"${finalizer}"`).join(", ");
    causes.push({
      reason: "FieldValueForbidden",
      message: `Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{${found}}`,
      field: "metadata.finalizers",
    });
  }
  return causes;
}

/** Builds a cause in kube-apiserver's words for a field's value. */
export function buildInvalidValueCause(field: string, value: string, detail: string): StatusCause {
  return {
    reason: "FieldValueInvalid",
    message: `Invalid value: ${JSON.stringify(value)}: ${detail}`,
    field,
  };
}

const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const QUALIFIED_NAME = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const LABEL_VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;

const SUBDOMAIN_RULE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const QUALIFIED_NAME_RULE =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE_RULE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

function nameCauses(name: string): readonly StatusCause[] {
  if (name === "") {
    const message = "Required value: name or generateName is required";
    return [{ reason: "FieldValueRequired", message, field: "metadata.name" }];
  }
  if (name.length > 253)
    return [buildInvalidValueCause("metadata.name", name, "must be no more than 253 characters")];
  return SUBDOMAIN.test(name) ? [] : [buildInvalidValueCause("metadata.name", name, SUBDOMAIN_RULE)];
}

function checkLabel([key, value]: readonly [string, string]): readonly StatusCause[] {
  const details = checkLabelKey(key).map((fault) => buildInvalidValueCause("metadata.labels", key, fault));
  if (value.length > 63) {
    details.push(buildInvalidValueCause("metadata.labels", value, "must be no more than 63 bytes"));
  }
  if (!LABEL_VALUE.test(value))
    details.push(buildInvalidValueCause("metadata.labels", value, LABEL_VALUE_RULE));
  return details;
}

// The keys of annotations are those of labels, in any case.
function checkAnnotationKey(key: string): readonly StatusCause[] {
  return checkLabelKey(key.toLowerCase()).map((fault) =>
    buildInvalidValueCause("metadata.annotations", key, fault),
  );
}

function checkLabelKey(key: string): readonly string[] {
  if (key.split("/").length > 2) {
    return [
      `a valid label key ${QUALIFIED_NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const slash = key.indexOf("/");
  const prefix = slash < 0 ? undefined : key.slice(0, slash);
  const name = key.slice(slash + 1);
  const faults: string[] = [];
  if (prefix === "") faults.push("prefix part must be non-empty");
  else if (prefix !== undefined && !SUBDOMAIN.test(prefix)) faults.push(`prefix part ${SUBDOMAIN_RULE}`);
  if (name === "") faults.push("name part must be non-empty");
  if (name.length > 63) faults.push("name part must be no more than 63 bytes");
  if (!QUALIFIED_NAME.test(name)) faults.push(`name part ${QUALIFIED_NAME_RULE}`);
  return faults;
}
