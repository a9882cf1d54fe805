// SPDX-License-Identifier: GPL-2.0

// yaml2json FILE...: the documents of YAML files as JSON, one a line, as Kubernetes' own tools read them; a key
// that is given twice is an error.
package main

import (
	"bytes"
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

func main() {
	for _, name := range os.Args[1:] {
		text, err := os.ReadFile(name)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		for i, doc := range bytes.Split(append([]byte("\n"), text...), []byte("\n---\n")) {
			json, err := yaml.YAMLToJSONStrict(doc)
			if err != nil {
				fmt.Fprintf(os.Stderr, "%s, document %d: %v\n", name, i+1, err)
				os.Exit(1)
			}
			fmt.Println(string(json))
		}
	}
}
